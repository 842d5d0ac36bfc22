"""Calibration: whether posteriors mean what they say, by simulation.

``sbc`` draws parameters from the prior and asks whether their ranks among posterior draws are
uniform; ``coverage`` asks how often credible intervals hold the truth. Both refit one compiled
program in every worker.
"""

from hero_bayes.calibration.design import Design
from hero_bayes.calibration.generations import sbc_difficulty
from hero_bayes.calibration.intervals import coverage, coverage_table
from hero_bayes.calibration.plotting import plot_ranks
from hero_bayes.calibration.ranks import sbc
from hero_bayes.calibration.uniformity import uniformity

__all__ = [
    "Design",
    "coverage",
    "coverage_table",
    "plot_ranks",
    "sbc",
    "sbc_difficulty",
    "uniformity",
]
