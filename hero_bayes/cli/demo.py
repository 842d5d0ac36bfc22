"""``hero-bayes demo``: the whole story on real safety labels, with the truth beside it."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hero_bayes.cli import flags
from hero_bayes.cli.exit_codes import UsageError
from hero_bayes.cli.interrupts import interrupts_kept
from hero_bayes.cli.tables import Row, comparison_rows
from hero_bayes.cli.targets import check_target

if TYPE_CHECKING:
    import xarray as xr

    from hero_bayes.agreement.result import Dependence
    from hero_bayes.data.datasets import DemoRounds
    from hero_bayes.inference.diagnose import Diagnosis

__all__ = ["PROB", "Story", "demo", "full_posterior"]

COVARIATES = ("n_turns", "context_chars", "response_chars")
PROB = 0.95
SEED = 1
#: The model of the posterior, unless another is asked for.
MODEL = "auto"


@dataclass(frozen=True)
class Story:
    """All numbers of the demo.

    Attributes
    ----------
    rounds : DemoRounds
        The data, and the withheld truth.
    methods, posterior : list of dict
        One row an estimate, as `comparison_rows` returns them; those of the posterior with
        ``r_hat`` and ``variance_removed_percent``.
    dependence : Dependence
        How far the raters err on the same items.
    model : str
        The model of the posterior.
    chosen : str
        What that model chose; empty if there was nothing to choose.
    diagnosis : Diagnosis, optional
        The gate's verdict on the posterior.
    """

    rounds: "DemoRounds"
    methods: list[Row]
    posterior: list[Row]
    dependence: "Dependence"
    model: str = MODEL
    chosen: str = ""
    diagnosis: "Diagnosis | None" = None


def demo(
    posterior: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the posterior draws there (NetCDF)."),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace FILE if it exists.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = SEED,
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Model of the posterior: auto (errors may be shared), hero (the paper's, by "
            "NUTS), or another that hero_bayes.fit takes by name.",
        ),
    ] = MODEL,
    as_json: flags.Json = False,
) -> None:
    """See on real safety labels what majority vote, HERO and the posterior say, and the truth."""
    check_target("--posterior", posterior, overwrite)
    _check_model(model)
    from hero_bayes.agreement.dependence import dependence
    from hero_bayes.cli import demo_report
    from hero_bayes.data.datasets import demo_rounds
    from hero_bayes.estimators.estimate import compare_methods
    from hero_bayes.inference.diagnose import diagnose

    rounds = demo_rounds()
    history, current = rounds.history, rounds.current
    table = compare_methods(history, current, covariates=COVARIATES, prob=PROB, shrink="optimal")
    methods = comparison_rows(table)
    report = None if as_json else demo_report.open_report()
    if report is not None:
        demo_report.write_data(report, rounds)
        demo_report.write_methods(report, rounds, methods)
        demo_report.announce_posterior(report, model)
    with interrupts_kept():
        fitted = full_posterior(rounds, seed, model)
    story = Story(
        rounds,
        methods,
        posterior_rows(fitted, rounds),
        dependence(history),
        model,
        str(fitted.attrs.get("chosen", "")),
        diagnose(fitted),
    )
    saved = None
    if posterior is not None:
        from hero_bayes.inference.storage import save

        saved = save(fitted, posterior, overwrite=overwrite)
    if report is None:
        demo_report.write_json(story, seed, saved)
    else:
        demo_report.write_posterior(report, story)
        demo_report.write_ending(report, story, saved)


def _check_model(model: str) -> None:
    """Refuse before any work a model that there is not."""
    if model == MODEL:
        return
    from hero_bayes.inference.exact import EXACT_MODELS
    from hero_bayes.models import MODELS

    if model not in (*EXACT_MODELS, *MODELS):
        raise UsageError(f"--model {model}: one of {', '.join((*EXACT_MODELS, *MODELS))}")


def full_posterior(rounds: "DemoRounds", seed: int, model: str = MODEL) -> "xr.DataTree":
    """Draws in the model's own mode, the current labels not informing the labelers."""
    from hero_bayes.inference.fit import fit

    return fit(rounds.history, rounds.current, model=model, random_seed=seed, progressbar=True)


def posterior_rows(fitted: "xr.DataTree", rounds: "DemoRounds") -> list[Row]:
    """One row per quantity of the posterior: mean, standard deviation, interval, R-hat."""
    from hero_bayes.adjustment.adjust import adjust

    draws = fitted["posterior"]
    adjusted = adjust(fitted, rounds.history, rounds.current, covariates=list(COVARIATES))
    removed = float(adjusted["adjustment"]["variance_removed_percent"].to_numpy()[0])
    return [
        _row("posterior", "item_rate", draws["item_rate"]),
        _row("posterior", "prevalence", draws["prevalence"]),
        _row(
            "posterior_adjusted",
            "prevalence",
            adjusted["posterior"]["prevalence_adjusted"],
            removed,
        ),
    ]


def _row(method: str, estimand: str, draws: Any, removed: float | None = None) -> Row:
    values = draws.isel(group=0).transpose("chain", "draw").to_numpy()
    tail = (1 - PROB) / 2
    import numpy as np

    low, high = np.quantile(values, [tail, 1 - tail])
    return {
        "group": str(draws["group"].to_numpy()[0]),
        "method": method,
        "estimand": estimand,
        "estimate": float(values.mean()),
        "standard_error": float(values.std()),
        "lower": float(low),
        "upper": float(high),
        "refused": False,
        "reason": None,
        "note": None,
        "r_hat": _r_hat(values),
        "variance_removed_percent": removed,
    }


def _r_hat(values: Any) -> float | None:
    """Rank-normalised split R-hat; None where there are too few draws for one."""
    import arviz

    if values.shape[0] < 2 or values.shape[1] < 4:
        return None
    return float(arviz.rhat(values, chain_axis=0, draw_axis=1))
