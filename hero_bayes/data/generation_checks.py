"""What is legal but dangerous in a table of generations."""

from typing import TYPE_CHECKING

from hero_bayes.data.findings import Findings

if TYPE_CHECKING:
    from hero_bayes.data.generations import Generations

__all__ = ["generation_findings"]


def generation_findings(generations: "Generations") -> Findings:
    """Return the findings; see `Generations.findings`."""
    return Findings(())
