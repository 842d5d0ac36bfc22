"""The rules of the gate, one function a rule: draws in, checks out."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from hero_bayes.inference.graph import LONG_DIMS
from hero_bayes.words import number_of

FloatArray = NDArray[np.float64]

R_HAT = 1.01
ESS = 400.0
#: Quantiles whose effective sample size is the tail ESS.
TAILS = (0.05, 0.95)
BFMI = 0.3
K_HAT = 0.7
IMPORTANCE_DRAWS = 200.0
#: Calibrated scores may point the wrong way with no more than this probability.
NEGATIVE_SLOPE = 0.05
#: A labeler whose sensitivity + specificity - 1 is smaller than this tells next to nothing.
INFORMATIVE = 0.05
#: Flipped labelers may hold less than this share of the current labels.
FLIPPED_SHARE = 0.05
#: Labelers near chance may hold less than this share of the current labels.
CHANCE_SHARE = 0.5
#: Variables that may never be the same in every draw.
MUST_VARY = frozenset({"prevalence", "history_prevalence", "sensitivity", "specificity"})
#: A law's mean may be this many sd from the law-free one, and its predicted counts are off where
#: no larger share of replicas is as far from them as the data.
LAW_DISTANCE, LAW_TAIL = 1.0, 0.01
#: With fewer prompts (or groups) nothing shows how they differ.
FEWEST_UNITS = 5
LONGER = "run longer chains (draws=2000, tune=2000)"


@dataclass(frozen=True)
class Check:
    """One number against its limit; ``told`` is the reason if it fails, else a note or empty."""

    name: str
    value: float
    limit: str
    passed: bool
    told: str = ""


def sampler_checks(fit: xr.DataTree) -> list[Check]:
    """R-hat and effective sample sizes by variable, divergences, energy, and the chains' modes."""
    checks = []
    for name, draws in fit["posterior"].to_dataset().data_vars.items():
        if not LONG_DIMS & set(map(str, draws.dims)):
            checks += convergence(str(name), draws)
    statistics = fit["sample_stats"].to_dataset() if "sample_stats" in fit.children else None
    return [*checks, divergences(statistics), energy(statistics), *modes_of_chains(fit)]


def convergence(name: str, draws: xr.DataArray) -> list[Check]:
    """R-hat, bulk and tail ESS of one variable: its worst element of each."""
    values = draws.transpose("chain", "draw", ...)
    n_chains, n_draws = values.shape[:2]
    flat = values.to_numpy().astype(float).reshape(n_chains, n_draws, -1)
    labels = _element_names(values)
    if not np.isfinite(flat).all():
        bad = float((~np.isfinite(flat)).sum())
        told = f"{name} holds {bad:g} draws that are no numbers: {LONGER}, or simplify the model"
        return [Check(f"draws of {name}", bad, "0 not finite", False, told)]
    constant = np.ptp(flat, axis=(0, 1)) == 0.0
    checks = constant_check(name, [n for n, c in zip(labels, constant, strict=True) if c])
    kept = np.flatnonzero(~constant)
    if kept.size:
        flat, labels = flat[..., kept], [labels[k] for k in kept]
        checks += [_r_hat(name, flat, labels), *_sizes(name, flat, labels)]
    return checks


def constant_check(name: str, which: list[str]) -> list[Check]:
    """What to say of elements that are the same in every draw."""
    if not which:
        return []
    where = listed([part for part in which if part])
    title = f"{name} ({where})" if where else name
    told = f"{title} is the same in every draw, so that R-hat and ESS say nothing about it"
    if name in MUST_VARY:
        told += ": the sampler is stuck; run it again with another random_seed"
    title = f"constant elements of {name}"
    limit = "0" if name in MUST_VARY else "any"
    return [Check(title, float(len(which)), limit, name not in MUST_VARY, told)]


def _element_names(values: xr.DataArray) -> list[str]:
    """A name for each element behind chain and draw, such as "labeler w1"."""
    dims = values.dims[2:]
    names = []
    for index in np.ndindex(*values.shape[2:]):
        parts = [
            f"{dim} {values[dim].to_numpy()[k] if dim in values.coords else k}"
            for dim, k in zip(dims, index, strict=True)
        ]
        names.append(", ".join(parts))
    return names


def _by_element(function: str, flat: FloatArray, **options: Any) -> FloatArray:
    """One of ArviZ's diagnostics for every element."""
    import arviz

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # A constant variable divides by zero; its diagnostic is then no number, which is reported.
        warnings.simplefilter("ignore", RuntimeWarning)
        values = getattr(arviz, function)(flat, chain_axis=0, draw_axis=1, **options)
    return np.atleast_1d(np.asarray(values, dtype=float))


def _worst(values: FloatArray, largest: bool) -> int:
    """Position of the worst element; one that is no number is worse than all."""
    bad = np.flatnonzero(~np.isfinite(values))
    return int(bad[0] if bad.size else (np.argmax(values) if largest else np.argmin(values)))


def _r_hat(name: str, flat: FloatArray, labels: list[str]) -> Check:
    title, limit = f"R-hat of {name}", f"< {R_HAT:g}"
    if flat.shape[0] < 2:
        told = f"{title} needs at least two chains: run chains=4"
        return Check(title, np.nan, limit, False, told)
    values = _by_element("rhat", flat, method="rank")
    k = _worst(values, largest=True)
    value, passed = float(values[k]), bool(values[k] < R_HAT)
    told = f"{_of(title, labels[k])} is {value:.3f}, not below {R_HAT:g}: the chains disagree; "
    return Check(title, value, limit, passed, "" if passed else told + LONGER)


def _sizes(name: str, flat: FloatArray, labels: list[str]) -> list[Check]:
    checks = []
    for kind in ("bulk", "tail"):
        options = {"prob": TAILS} if kind == "tail" else {}
        values = _by_element("ess", flat, method=kind, **options)
        k = _worst(values, largest=False)
        title = f"{kind} ESS of {name}"
        value, passed = float(values[k]), bool(values[k] >= ESS)
        told = (
            f"{_of(title, labels[k])} is {value:.0f}, below {ESS:g}: too few effective draws; "
            f"{LONGER}"
        )
        checks.append(Check(title, value, f">= {ESS:g}", passed, "" if passed else told))
    return checks


def _of(title: str, element: str) -> str:
    return f"{title} ({element})" if element else title


def divergences(statistics: xr.Dataset | None) -> Check:
    """No divergent transition."""
    if statistics is None or "diverging" not in statistics:
        told = 'divergences were not recorded: fit again with hb.fit(..., mode="nuts")'
        return Check("divergences", np.nan, "0", False, told)
    number = int(statistics["diverging"].sum())
    told = (
        f"{number} of {statistics['diverging'].size} draws diverged, none may: the sampler could "
        "not follow the posterior; run longer tuning (tune=3000), or give more gold or a tighter "
        "prior"
    )
    return Check("divergences", float(number), "0", number == 0, told if number else "")


def energy(statistics: xr.Dataset | None) -> Check:
    """Bayesian fraction of missing information, the smallest over chains."""
    import arviz

    limit = f">= {BFMI:g}"
    if statistics is None or "energy" not in statistics:
        told = 'BFMI cannot be had without energies: fit again with hb.fit(..., mode="nuts")'
        return Check("BFMI", np.nan, limit, False, told)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # A constant variable divides by zero; its diagnostic is then no number, which is reported.
        warnings.simplefilter("ignore", RuntimeWarning)
        found = arviz.bfmi(xr.DataTree.from_dict({"sample_stats": statistics}))
        value = float(np.min(found["energy"].to_numpy()))
    passed = bool(value >= BFMI)
    told = (
        f"BFMI is {value:.2f}, below {BFMI:g}: the sampler explores the tails slowly; "
        "run longer tuning (tune=3000), or use a tighter prior"
    )
    return Check("BFMI", value, limit, passed, "" if passed else told)


def youden(fit: xr.DataTree, current: bool = False) -> xr.DataArray | None:
    """Sensitivity + specificity - 1 (chain, draw, labeler); where wished, of the current round."""
    draws = fit["posterior"].to_dataset()
    prefix = "current_" if current and "current_sensitivity" in draws else ""
    names = (f"{prefix}sensitivity", f"{prefix}specificity")
    if any(name not in draws or "labeler" not in draws[name].dims for name in names):
        return None
    return (draws[names[0]] + draws[names[1]] - 1.0).transpose("chain", "draw", "labeler")


def modes_of_chains(fit: xr.DataTree) -> list[Check]:
    """No chain may see the labelers with the classes exchanged relative to the others."""
    informed = youden(fit)
    if informed is None:
        return []
    by_chain = informed.mean("draw").to_numpy()
    best = by_chain[int(np.argmax(by_chain.mean(axis=1)))]
    flipped = [str(c) for c, row in enumerate(by_chain) if not float(row @ best) > 0.0]
    title, limit = "chains in another mode", "0"
    if not flipped:
        return [Check(title, 0.0, limit, True)]
    told = (
        f"{len(flipped)} of {len(by_chain)} chains (chain {listed(flipped)}) see the labelers with "
        "the two classes exchanged, none may: give more gold of both classes, or a prior with "
        "sensitivity above one half"
    )
    return [Check(title, float(len(flipped)), limit, False, told)]


def laplace_checks(fit: xr.DataTree) -> list[Check]:
    """Curvature at the mode, Pareto k-hat, and how many importance draws are left."""
    attrs = fit.attrs
    definite = float(attrs.get("hessian_positive_definite", np.nan))
    k_hat = float(attrs.get("pareto_k_hat", np.nan))
    sample = 'fit with mode="nuts"'
    checks = [
        Check(
            "Hessian positive definite",
            definite,
            "1",
            definite == 1.0,
            ""
            if definite == 1.0
            else f"the Hessian at the mode is not positive definite ({definite:g}, must be 1): "
            f"some direction is not identified; {sample}, or give more gold",
        ),
        Check(
            "Pareto k-hat",
            k_hat,
            f"< {K_HAT:g}",
            k_hat < K_HAT,
            ""
            if k_hat < K_HAT
            else f"Pareto k-hat is {k_hat:.2f}, not below {K_HAT:g}: the posterior is too far from "
            f"a Gaussian to be corrected; {sample}",
        ),
    ]
    return [*checks, importance_check(fit)]


def importance_check(fit: xr.DataTree) -> Check:
    """Effective number of importance draws."""
    value = float(fit.attrs.get("importance_draws", np.nan))
    passed = value >= IMPORTANCE_DRAWS
    told = (
        f"the importance draws are worth {value:.0f}, fewer than {IMPORTANCE_DRAWS:g}: ask for "
        'more draws (draws=4000), or fit with mode="nuts"'
    )
    if "shortfall" in fit.attrs:  # the number of proposals is fixed
        told = f"{told.partition(':')[0]}: more draws do not help, more gold in the history does"
    limit = f">= {IMPORTANCE_DRAWS:g}"
    return Check("importance draws", value, limit, passed, "" if passed else told)


def law_checks(fit: xr.DataTree) -> list[Check]:
    """The law of difficulty against the law-free score and the counts; enough prompts."""
    if "law_check" not in fit.children:
        return []
    found = fit["law_check"].to_dataset()
    noun, models = found.attrs["unit"], [str(name) for name in found["model"].to_numpy()]
    rests = (
        "density, icc, sigma, plans and pass@k of this fit rest on the law: read mu and "
        'hb.difficulty.moments, plan from the generations, or fit with shape="auto"'
    )
    rules = (
        (
            f"{noun}s",
            found["units"].to_numpy() < FEWEST_UNITS,
            found["units"].to_numpy(),
            f">= {FEWEST_UNITS}",
            f"has {{:.0f}} {noun}s, fewer than {FEWEST_UNITS}: too few to show how {noun}s "
            f"differ (the interval takes their shares as nearly normal); take more {noun}s",
        ),
        (
            "mean of the law",
            ~(found["distance"].to_numpy() <= LAW_DISTANCE),
            -found["distance"].to_numpy(),
            f"<= {LAW_DISTANCE:g} sd off",
            f"has a law of difficulty whose mean is {{:.1f}} sd from the score that rests on no "
            f"law, more than {LAW_DISTANCE:g}: the law does not fit; {rests}",
        ),
        (
            "counts predicted by the law",
            found["tail"].to_numpy() <= LAW_TAIL,
            np.nan_to_num(found["tail"].to_numpy(), nan=1.0),
            f"> {LAW_TAIL:g} of replicas as far",
            f"has counts that the law of difficulty does not predict ({{:.2f}} of its replicas are "
            f"as far off, {LAW_TAIL:g} or less fails): the law does not fit; {rests}",
        ),
    )
    checks = []
    for title, failing, badness, limit, told in rules:
        worst = int(np.argmin(badness))
        value = float(abs(badness[worst]))
        failed = bool(failing[worst])
        said = f"model {models[worst]!r} {told.format(value)}" if failed else ""
        checks.append(Check(title, value, limit, not failed, said))
    return checks


def slope_check(fit: xr.DataTree) -> list[Check]:
    """The calibrated scores must point the right way."""
    if "negative_slope" in fit.attrs:
        value = float(fit.attrs["negative_slope"])
    elif "score_slope" in fit["posterior"].data_vars:
        value = float((fit["posterior"]["score_slope"] < 0.0).mean())
    else:
        return []
    passed = value <= NEGATIVE_SLOPE
    told = (
        f"P(slope < 0) is {value:.2f}, above {NEGATIVE_SLOPE:g}: on gold the labels hardly tell "
        "the classes apart; give more gold, or let better labelers judge"
    )
    title, limit = "P(slope < 0)", f"<= {NEGATIVE_SLOPE:g}"
    return [Check(title, value, limit, passed, "" if passed else told)]


def mode_check() -> Check:
    """A mode alone carries no uncertainty."""
    told = (
        "the fit is the mode alone (1 draw, at least 2 needed): it has no uncertainty and is never "
        'enough for a decision; fit with mode="nuts"'
    )
    return Check("draws", 1.0, ">= 2", False, told)


def identifiability(fit: xr.DataTree) -> list[Check]:
    """Parameters of the labelers and groups against what label patterns and gold can tell.

    Notes
    -----
    Parameters: sensitivity and specificity of every labeler with informing labels, a rate for every
    history group and, in a joint fit, current group. Told: one for each labeler set seen together
    in a group (at most 2^J - 1), and gold adds one for each labeler with labels on gold 1 and one
    for each with labels on gold 0. Drift and population parameters live on their priors and are not
    counted.
    """
    if youden(fit) is None:
        return []
    title = "identifiability"
    counts = fit["constant_data"].to_dataset() if "constant_data" in fit.children else xr.Dataset()
    if "pattern_degrees_of_freedom" not in counts:
        told = (
            "identifiability cannot be judged: the fit holds no pattern_degrees_of_freedom (an old "
            "version made it); fit again"
        )
        return [Check(title, np.nan, ">= 0", False, told)]
    names = ["pattern_degrees_of_freedom", "current_pattern_degrees_of_freedom"]
    told_by_patterns = [counts[name] for name in names if name in counts]
    groups = sum(int((part > 0).sum()) for part in told_by_patterns)
    parameters = 2 * int((counts["informing_labels"] > 0).sum()) + groups
    gold = int((counts["positive_gold_labels"] > 0).sum())
    gold += int((counts["negative_gold_labels"] > 0).sum())
    freedom = sum(int(part.sum()) for part in told_by_patterns) + gold
    spare, passed = freedom - parameters, freedom >= parameters
    told = (
        f"{parameters} parameters stand against {freedom} degrees of freedom of label patterns and "
        "gold, which may not be fewer: the prior decides the rest; let more labelers judge the "
        "same items, or give gold of both classes to items of every labeler"
    )
    return [Check(title, float(spare), ">= 0", passed, "" if passed else told)]


def labeler_checks(fit: xr.DataTree) -> list[Check]:
    """Flipped labelers, and labelers near chance: named, with their share of the current labels."""
    quality = youden(fit, current=True)
    if quality is None or quality.sizes["chain"] * quality.sizes["draw"] < 2:
        return []
    draws = ("chain", "draw")
    flipped: xr.DataArray = (quality < 0.0).mean(draws) > 0.5
    near: xr.DataArray = (abs(quality) < INFORMATIVE).mean(draws) > 0.5
    return [
        _named(
            fit,
            flipped,
            "flipped labelers",
            FLIPPED_SHARE,
            "probably erring more often than not (sensitivity + specificity < 1)",
            "check whether their labels are coded the other way round, or leave them out",
        ),
        _named(
            fit,
            near,
            "labelers near chance",
            CHANCE_SHARE,
            f"probably telling next to nothing (|sensitivity + specificity - 1| < {INFORMATIVE:g})",
            "let better labelers judge the current round",
        ),
    ]


def _named(
    fit: xr.DataTree, which: xr.DataArray, title: str, limit: float, fault: str, remedy: str
) -> Check:
    """Labelers with a fault, and whether their share of the current labels is too large."""
    names = [str(name) for name in which["labeler"].to_numpy()[which.to_numpy()]]
    share = 1.0 if names else 0.0
    counts = fit["constant_data"].to_dataset() if "constant_data" in fit.children else xr.Dataset()
    if "current_labels" in counts and int(counts["current_labels"].sum()) > 0:
        given = counts["current_labels"].sel(labeler=which["labeler"])
        share = float(given.to_numpy()[which.to_numpy()].sum() / counts["current_labels"].sum())
    told = ""
    if names:
        told = (
            f"{number_of(len(names), 'labeler')} ({listed(names)}), {fault}, gave "
            f"{100 * share:.1f} % of the current labels (limit {100 * limit:g} %): {remedy}"
        )
    return Check(f"share of {title}", share, f"< {limit:g}", share < limit, told)


def listed(names: list[str], most: int = 6) -> str:
    """Names in a row, the first few of many."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
