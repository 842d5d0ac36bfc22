"""What ``hero-bayes difficulty`` works out, as tables: every gap has its reason beside it."""

import re
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from hero_bayes.cli.wording import in_flags
from hero_bayes.errors import Refusal

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from hero_bayes.data.findings import Findings
    from hero_bayes.data.generations import Generations
    from hero_bayes.difficulty.review import ReviewList
    from hero_bayes.inference.diagnose import Diagnosis

__all__ = ["REGIONS", "Answer", "Asked", "answer", "flags_of", "in_words", "records", "regions"]

REGIONS = ("easy", "mixed", "hard", "review")

#: Remedies that only generations have; `in_flags` knows the others.
_FLAGS = (
    (r"columns=\{\"(\w+)\": \.\.\.\}", r"--column \1=YOUR_COLUMN"),
    (r"columns=\{\"(\w+)\": [\"']([^\"']*)[\"']\}", r"--column \1=\2"),
    (r"only=\{\"([^\"]*)\": \"([^\"]*)\"\}", r"--only '\1=\2'"),
    (r"^ignore=$", "--ignore"),
    (r"ignore=\[\"([^\"]*)\"\]", r"--ignore '\1'"),
    (r"(?:hb\.fit\(\.\.\., )?mode=\"nuts\"\)?", "--mode nuts"),
    (r"ask for more draws \(draws=\d+\), or ", ""),
    (r"use difference_moments, which pairs by prompt", "read the differences paired by prompt"),
    (r"pass cluster= to join them", "a column answer_cluster joins them"),
    (r"key_exact=True", "--key-exact"),
    (r"temperature=(?=[\d.])", "--temperature "),
    (r"temperature=", "--temperature"),
)


@dataclass(frozen=True)
class Asked:
    """What the caller asked for."""

    shape: str
    mode: str
    prob: float
    seed: int
    target_se: float | None
    key_exact: bool
    temperature: float | None
    reference: str | None = None


@dataclass(frozen=True)
class Answer:
    """All that the command found.

    Attributes
    ----------
    generations : Generations
    asked : Asked
    gate : Diagnosis
        Whether the posterior may be relied on.
    summary : DataFrame
        One row a model.
    passes : DataFrame
        pass@k and pass^k, one row a model and k.
    comparison, plans : DataFrame, or None
        Pairs of models; designs for the target standard error.
    no_comparison : str
        Why there is none; "" where there is.
    enough : DataFrame
        One row a model: generations per prompt that are enough.
    prompts : DataFrame
        The data map, one row a model and prompt.
    review : ReviewList
        Prompts to look at.
    """

    generations: "Generations"
    asked: Asked
    gate: "Diagnosis"
    summary: "pd.DataFrame"
    passes: "pd.DataFrame"
    comparison: "pd.DataFrame | None"
    no_comparison: str
    enough: "pd.DataFrame"
    plans: "pd.DataFrame | None"
    prompts: "pd.DataFrame"
    review: "ReviewList"


def answer(generations: "Generations", asked: Asked) -> Answer:
    """Fit the generations, and work out every table of the report."""
    from hero_bayes.difficulty.fitting import fit
    from hero_bayes.difficulty.mapping import data_map
    from hero_bayes.difficulty.reliability import pass_at_k
    from hero_bayes.difficulty.review import review_list
    from hero_bayes.inference.diagnose import diagnose

    fitted = fit(generations, shape=asked.shape, mode=asked.mode, random_seed=asked.seed)
    comparison, no_comparison = _comparison(fitted, asked)
    return Answer(
        generations=generations,
        asked=asked,
        gate=diagnose(fitted),
        summary=summary_table(generations, fitted, asked.prob),
        passes=pass_at_k(generations, prob=asked.prob),
        comparison=comparison,
        no_comparison=no_comparison,
        enough=_enough(generations, asked.seed),
        plans=None if asked.target_se is None else _plans(generations, fitted, asked),
        prompts=data_map(generations, fitted, prob=asked.prob, random_seed=asked.seed),
        review=review_list(
            generations,
            key_exact=asked.key_exact,
            rule="paper",
            temperature=asked.temperature,
            random_seed=asked.seed,
        ),
    )


def flags_of(message: str) -> str:
    """Say a remedy of the Python interface in flags of this command."""
    for pattern, flag in _FLAGS:
        message = re.sub(pattern, flag, message)
    return in_flags(message)


def in_words(findings: "Findings") -> "Findings":
    """Findings with their remedies in flags of this command."""
    from hero_bayes.data.findings import Finding, Findings

    return Findings(
        tuple(
            Finding(one.severity, one.code, flags_of(one.message), flags_of(one.remedy))
            for one in findings
        )
    )


def summary_table(generations: "Generations", fitted: "xr.DataTree", prob: float) -> "pd.DataFrame":
    """Moments and posterior side by side.

    Parameters
    ----------
    generations : Generations
    fitted : DataTree
        Their fit.
    prob : float
        Coverage of the intervals.

    Returns
    -------
    DataFrame
        One row a model: ``score``, ``standard_error``, ``low``, ``high`` and what follows from the
        means of the prompts; ``new_prompts``, ``these_prompts``, ``posterior_sigma`` and
        ``posterior_icc``, posterior means with ``_low`` and ``_high``. Where k = 1 throughout, the
        last two only repeat their prior and are missing, and ``reason`` says so.
    """
    from hero_bayes.difficulty.score_moments import moments_table

    rows = []
    for row in moments_table(generations, prob).to_dict("records"):
        identified = bool(row["identified"])
        of_model = fitted["posterior"].to_dataset().sel(model=row["model"])
        # Of very many prompts there are fewer draws, in a group of their own.
        home = fitted["these_prompts" if "these_prompts" in fitted.children else "posterior"]
        these = home.to_dataset()["mu_these_prompts"].sel(model=row["model"])
        new: dict[str, Any] = {
            "model": row["model"],
            "prompts": row["n_prompts"],
            "generations": row["n_generations"],
            "k_min": row["k_min"],
            "k_max": row["k_max"],
            "score": row["mu"],
        }
        for name in ("standard_error", "low", "high"):
            new[name] = row[name]
        for name, draws in (("new_prompts", of_model["mu"]), ("these_prompts", these)):
            new |= _drawn(name, draws, prob)
        new |= {"sigma": row["sigma"], "icc": row["icc"]}
        for name in ("sigma", "icc"):
            new |= _drawn(f"posterior_{name}", of_model[name] if identified else None, prob)
        for name in ("between", "within", "se_floor", "clustered", "reason"):
            new[name] = row[name]
        rows.append(new)
    return _frame(rows)


def _drawn(name: str, draws: "xr.DataArray | None", prob: float) -> dict[str, float]:
    """Posterior mean and interval; NaN without draws."""
    if draws is None:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"), float("nan"))
    import numpy as np

    values = draws.to_numpy().ravel()
    low, high = np.quantile(values, [(1 - prob) / 2, (1 + prob) / 2])
    return {name: float(values.mean()), f"{name}_low": float(low), f"{name}_high": float(high)}


def _frame(rows: list[dict[str, Any]]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(rows)


def _comparison(fitted: "xr.DataTree", asked: Asked) -> "tuple[pd.DataFrame | None, str]":
    from hero_bayes.difficulty.comparing import compare

    try:
        pairs = compare(fitted, asked.reference, prob=asked.prob, random_seed=asked.seed)
        return pairs, ""
    except Refusal as refusal:
        return None, str(refusal)


def _enough(generations: "Generations", seed: int) -> "pd.DataFrame":
    """How many generations are enough, by model; k is missing where none is, with the reason."""
    from hero_bayes.difficulty.subsamples import enough, k_curve

    rows = []
    for model in map(str, generations.models):
        row: dict[str, Any] = {"model": model, "k": None, "standard_error": None, "floor": None}
        row |= {"low": None, "high": None, "sentence": "", "reason": ""}
        try:
            found = enough(k_curve(generations, model=model, random_seed=seed))
        except Refusal as refusal:
            row["reason"] = flags_of(str(refusal))
        else:
            if found.k == 0:
                row["reason"] = found.sentence
            else:
                row |= {"k": found.k, "standard_error": found.standard_error}
                row |= {"floor": found.floor, "sentence": found.sentence, "low": found.low}
                row |= {"high": found.high if isfinite(found.high) else None}
        rows.append(row)
    return _frame(rows)


def _plans(generations: "Generations", fitted: "xr.DataTree", asked: Asked) -> "pd.DataFrame":
    """Designs that reach the target, by model.

    Of the counts where prompts come in groups, and where k = 1, which fixes k = 1.
    """
    import pandas as pd

    from hero_bayes.difficulty.planning import plan

    parts = []
    for model in map(str, generations.models):
        several = bool((generations.k[generations.cells_of(model)] > 1).any())
        options: dict[str, Any] = {"target_se": asked.target_se, "prob": asked.prob, "model": model}
        try:
            if several and generations.prompt_group is None:
                table = plan(fitted, **options).assign(reason="")
            elif several:
                table = plan(generations, random_seed=asked.seed, **options).assign(reason="")
            else:
                table = plan(generations, k=1, random_seed=asked.seed, **options)
                table["reason"] = "k = 1: the floor and other k are unknown"
        except Refusal as refusal:
            table = _frame([{"reason": flags_of(str(refusal))}])
        table.insert(0, "model", model)
        parts.append(table)
    return pd.concat(parts, ignore_index=True)


def records(table: "pd.DataFrame") -> list[dict[str, Any]]:
    """Rows as plain values; an empty text and what is missing become None."""
    records = table.astype(object).where(table.notna(), None).to_dict("records")
    return [
        {str(name): None if isinstance(x, str) and not x else x for name, x in row.items()}
        for row in records
    ]


def regions(prompts: "pd.DataFrame") -> dict[str, dict[str, int]]:
    """Prompts of each region of the data map, by model."""
    table: dict[str, dict[str, int]] = {}
    for model, region in zip(prompts["model"], prompts["region"], strict=True):
        counts = table.setdefault(str(model), dict.fromkeys(REGIONS, 0))
        counts[str(region)] += 1
    return table
