"""Does the published table of scores over 50 generations fit the model published with it?

    python benchmarks/paper_table.py [--output benchmarks/results/paper_table.csv]

Zhang, Cai, Chen (2025), arXiv:2502.08943, print for four benchmarks and four models the greedy
score, the mean over k = 50 generations, both with standard errors, and how far the best of the 50
single runs lies above the worst. Lemma 2.1 there gives sigma from the second standard error, and
with it what that distance should be if the generations of a prompt are exchangeable.
"""

import argparse
import pathlib

import numpy as np
import pandas as pd

from hero_bayes.difficulty.single_runs import normal_range, single_run_spread

OUTPUT = pathlib.Path(__file__).parent / "results" / "paper_table.csv"
K = 50
#: Prompts.
SIZES = {"MMLU-Pro": 12_187, "GSM8K": 1_319, "IFEval": 541, "MuSR": 756}
#: Percent: greedy, its standard error, mean of 50, its standard error, best minus worst run.
PRINTED = {
    ("MMLU-Pro", "Llama 3.1 8B"): (46.2, 0.45, 46.1, 0.39, 10.0),
    ("MMLU-Pro", "Llama 3.1 70B"): (63.8, 0.44, 63.4, 0.40, 3.9),
    ("MMLU-Pro", "Qwen 2.5 7B"): (53.3, 0.45, 53.0, 0.36, 1.3),
    ("MMLU-Pro", "Ministral 8B"): (39.7, 0.44, 36.3, 0.29, 1.5),
    ("GSM8K", "Llama 3.1 8B"): (86.1, 0.95, 85.6, 0.68, 18.6),
    ("GSM8K", "Llama 3.1 70B"): (95.6, 0.56, 95.3, 0.45, 4.8),
    ("GSM8K", "Qwen 2.5 7B"): (90.2, 0.82, 90.2, 0.65, 2.3),
    ("GSM8K", "Ministral 8B"): (86.1, 0.95, 84.9, 0.73, 3.1),
    ("IFEval", "Llama 3.1 8B"): (74.5, 1.87, 71.1, 1.51, 8.3),
    ("IFEval", "Llama 3.1 70B"): (82.6, 1.64, 80.2, 1.42, 5.9),
    ("IFEval", "Qwen 2.5 7B"): (72.6, 1.92, 71.2, 1.64, 5.9),
    ("IFEval", "Ministral 8B"): (51.4, 2.15, 49.8, 1.65, 5.6),
    ("MuSR", "Llama 3.1 8B"): (24.8, 1.65, 29.0, 1.00, 8.2),
    ("MuSR", "Llama 3.1 70B"): (56.3, 1.80, 57.9, 1.40, 5.4),
    ("MuSR", "Qwen 2.5 7B"): (49.2, 1.82, 50.9, 0.98, 8.3),
    ("MuSR", "Ministral 8B"): (49.7, 1.82, 50.8, 0.91, 8.6),
}
#: A printed standard error may be off by half a unit of its last digit.
HALF_UNIT = 0.005
MISFIT = 3.0


def greedy_error(score, n):
    """Standard error sqrt(mu (1 - mu) / n) of a score with one answer per prompt, in percent."""
    return 100.0 * np.sqrt(score / 100.0 * (1.0 - score / 100.0) / n)


def implied_sigma(score, error, n, k=K):
    """Sigma that Lemma 2.1 gives for a mean over k generations and its standard error (percent)."""
    mu, squared = score / 100.0, (error / 100.0) ** 2
    sigma_squared = (n * squared - (mu - mu**2) / k) / (1.0 - 1.0 / k)
    return float(np.sqrt(np.clip(sigma_squared, 0.0, mu - mu**2)))


def spread_in_sds(delta, score, sigma, n):
    """Expected best minus worst of 50 runs (percent), and how many SDs of it delta lies above."""
    expected = 100.0 * single_run_spread(score / 100.0, sigma, n, runs=K)
    mean, sd = normal_range(K)
    return expected, (delta - expected) / (expected * sd / mean)


def table():
    """One row a cell of the published table; rounded, so that files compare."""
    rows = []
    for (benchmark, model), (greedy, greedy_se, score, error, delta) in PRINTED.items():
        n = SIZES[benchmark]
        computed = greedy_error(greedy, n)
        sigma = implied_sigma(score, error, n)
        expected, sds = spread_in_sds(delta, score, sigma, n)
        favourable = implied_sigma(score, error - HALF_UNIT, n)
        rows.append(
            {
                "benchmark": benchmark,
                "n": n,
                "model": model,
                "greedy": greedy,
                "greedy_se_printed": greedy_se,
                "greedy_se": round(computed, 3),
                "greedy_se_off": round(greedy_se - round(computed, 2), 2),
                "sample": score,
                "sample_se_printed": error,
                "sigma": round(sigma, 3),
                "icc": round(sigma**2 / (score / 100 * (1 - score / 100)), 3),
                "spread_printed": delta,
                "spread_expected": round(expected, 2),
                "ratio": round(delta / expected, 2),
                "sds_above": round(sds, 1),
                "sds_above_at_best_rounding": round(
                    spread_in_sds(delta, score, favourable, n)[1], 1
                ),
                "misfit": sds > MISFIT,
            }
        )
    return pd.DataFrame(rows)


def main():
    """Write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=OUTPUT)
    arguments = parser.parse_args()
    result = table()
    result.to_csv(arguments.output, index=False)
    print(result.to_string(index=False))


if __name__ == "__main__":
    main()
