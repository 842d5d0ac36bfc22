"""Arms of the current round against each other, from one joint posterior."""

import json

import numpy as np
import xarray as xr

from hero_bayes.data.arguments import need_labels
from hero_bayes.data.identifiers import some
from hero_bayes.data.labels import Labels
from hero_bayes.decision.arguments import check_fit, check_seed, check_truth
from hero_bayes.decision.arm_result import ArmComparison, ranks_of
from hero_bayes.decision.paired import (
    ItemsOfArms,
    check_current,
    items_of_arms,
    resampled,
    with_spread,
)
from hero_bayes.decision.rates import arms as arms_of
from hero_bayes.decision.rates import contrast_of, metric_draws
from hero_bayes.errors import DataError, Refusal
from hero_bayes.inference.diagnose import diagnose

__all__ = ["compare_arms"]

#: Metrics of fits of labels; the first is about new prompts, so that prompts are resampled.
METRICS = ("prevalence", "item_rate", "prevalence_adjusted")
JOINT = (
    "All comparisons are read from one joint posterior, ranks and P(best) among them: they count "
    "every arm at once, and no further correction for the number of comparisons is made."
)
PROMPTS_AT_HAND = (
    "The rates weight the prompts at hand, unlike the model's own prevalence, which weights the "
    "covariates of history."
)
WINNER = (
    "The arms have priors of their own that do not pull them together: the rate of whichever arm "
    "comes out best is flattered by the choice."
)


def compare_arms(
    fit: xr.DataTree,
    reference: str | None = None,
    paired: bool = True,
    metric: str = "prevalence",
    round: str | None = None,
    *,
    current: Labels | None = None,
    lower_is_better: bool = True,
    random_seed: int | None = None,
) -> ArmComparison:
    """Which arm of the current round is better, by how much, and how surely.

    Parameters
    ----------
    fit : xarray.DataTree
        What ``hb.fit`` or ``hb.adjust`` returned for a current round with several arms.
    reference : str, optional
        The arm that the others are compared with; default: the first.
    paired : bool
        Whether arms share what they have in common: draws of the labelers and, where ``current``
        tells the prompts, prompts. False breaks both, as two separate intervals do.
    metric : {"prevalence", "item_rate", "prevalence_adjusted"}
    round : str, optional
        Which round, if the current table holds several.
    current : Labels, optional
        The current table of the fit, whose ``prompt`` says which items answer one prompt.
    lower_is_better : bool
        True where 1 is a defect.
    random_seed : int, optional
        For prompt weights and ties; default: the fit's seed.

    Returns
    -------
    ArmComparison
        ``draws``, ``table()``, ``probability_better``, ``notes``; ``fit`` goes into ``hb.decide``.

    Raises
    ------
    DataError
        If there is no such arm or round, or ``current`` is not the fitted table.
    Refusal
        If there are fewer than two arms, or the fit is the mode alone.
    ValueError
        If ``metric`` or ``random_seed`` is not understood.
    TypeError
        If ``current`` is no ``Labels``, or ``paired`` or ``lower_is_better`` not True or False.

    Notes
    -----
    The draws of one fit share the labelers: an error in a labeler's sensitivity moves all arms
    alike and cancels in part. Where arms answered the same prompts, prompts hard for all arms
    cancel too. For every draw of the evidence, prompts get weights, the same in all arms (Bayesian
    bootstrap [1]_), and the rate of each arm is the root of its weighted score equation; see
    `paired_rates`. Single arms keep their posterior, or are widened to it; several items of one
    prompt in an arm count as related. ``item_rate`` speaks of the items at hand and
    ``prevalence_adjusted`` resamples items by itself: they are compared draw by draw.

    References
    ----------
    .. [1] Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134.

    Examples
    --------
    >>> import numpy as np, pandas as pd, hero_bayes as hb
    >>> rounds = hb.datasets.demo_rounds()
    >>> frames = rounds.current.to_frames()
    >>> items = frames.items.assign(arm=np.where(np.arange(175) < 88, "A", "B"))
    >>> current = hb.Labels.from_frames(frames.labels, items)
    >>> fitted = hb.fit(rounds.history, current, model="score", random_seed=1)
    >>> compare_arms(fitted, reference="A").arms
    ('A', 'B')
    """
    if metric not in METRICS:
        raise ValueError(f"metric {metric!r} is none of {', '.join(METRICS)}")
    check_fit(fit)
    check_truth(paired, "paired")
    check_truth(lower_is_better, "lower_is_better")
    if current is not None:
        need_labels(current=current)
    if random_seed is not None:
        check_seed(random_seed)
    if "model" in fit["posterior"].dims:
        raise DataError("this is a fit of generations; compare its models by hb.difficulty.compare")
    gate = diagnose(fit)
    rates = metric_draws(fit, metric)
    if gate.mode == "map":
        raise Refusal('the fit is the mode alone, without uncertainty; fit with mode="nuts"')
    names = arms_of_round(fit, rates, round)
    chosen = reference_arm(names, reference)
    seed = int(fit.attrs.get("random_seed", 0)) if random_seed is None else random_seed
    groups = list(names.values())
    n_shared, said, remarks = 0, [], list[str]()
    if current is not None:
        check_current(fit, current)
    by_arm = rates.sel(group=groups).rename(group="arm").assign_coords(arm=list(names))
    pairing = "labelers" if paired else "none"
    if not paired:
        by_arm = unpaired(by_arm, np.random.default_rng([seed, 6]))
        said.append("Nothing is shared between arms here (paired=False): the naive answer.")
    elif metric == "prevalence" and current is not None:
        items = items_of_arms(current, groups)
        n_shared = items.n_shared
        if n_shared:
            pairing = "prompts"
            by_arm, remarks = by_prompt(fit, current, items, by_arm, seed)
    if paired:
        said.append(pairing_note(pairing, metric, n_shared, current is not None))
    said += calibration_notes(fit, names)
    notes = [*said, *remarks, JOINT, *([WINNER] if len(names) > 2 else [])]
    if not gate.passed:
        notes = [f"The gate failed: {'; '.join(gate.reasons)}.", *notes]
    return ArmComparison(
        draws=comparison_dataset(by_arm, names, chosen, lower_is_better, seed, notes),
        fit=with_rates(fit, metric, by_arm, groups),
        reference=chosen,
        metric=metric,
        lower_is_better=lower_is_better,
        pairing=pairing,
        n_shared=n_shared,
        notes=tuple(notes),
    )


def arms_of_round(fit: xr.DataTree, rates: xr.DataArray, wanted: str | None) -> dict[str, str]:
    """Group of every arm of one round; a group without an arm is its own arm."""
    groups = [str(name) for name in rates["group"].to_numpy()]
    constant = fit["constant_data"].to_dataset() if "constant_data" in fit.children else {}
    rounds = [str(r) for r in constant["round"].to_numpy()] if "round" in constant else []
    rounds = rounds or [""] * len(groups)
    present = list(dict.fromkeys(rounds))
    if wanted is None and len(present) > 1:
        raise DataError(
            f"the fit has several current rounds ({some(present, 12)}): say which one to look at, "
            f"as in compare_arms(fit, round={present[0]!r})"
        )
    if wanted is not None and wanted not in present:
        raise DataError(f"no current round {wanted!r}; there are {some(present, 12)}")
    here = present[0] if wanted is None else wanted
    named = zip(groups, arms_of(fit, groups), rounds, strict=True)
    names = {arm or group: group for group, arm, where in named if where == here}
    if len(names) < 2:
        raise Refusal(
            f"a comparison needs at least two arms, this round has {len(names)}: give the items "
            'table of the current round a column "arm"'
        )
    return names


def reference_arm(names: dict[str, str], wanted: str | None) -> str:
    """The arm to compare with, by its name or its group's."""
    if wanted is None:
        return next(iter(names))
    found = [arm for arm, group in names.items() if wanted in (arm, group)]
    if not found:
        raise DataError(f"no arm {wanted!r} in this round; there are {some(list(names), 12)}")
    return found[0]


def unpaired(rates: xr.DataArray, rng: np.random.Generator) -> xr.DataArray:
    """Draws of every arm in an order of its own, so that arms share nothing."""
    values = rates.to_numpy()
    flat = values.reshape(-1, values.shape[-1])
    shuffled = np.stack([rng.permutation(column) for column in flat.T], axis=-1)
    return rates.copy(data=shuffled.reshape(values.shape))


def by_prompt(
    fit: xr.DataTree, current: Labels, items: ItemsOfArms, own: xr.DataArray, seed: int
) -> tuple[xr.DataArray, list[str]]:
    """Rates (chain, draw, arm) with prompts resampled jointly, and remarks on them."""
    names = [str(name) for name in own["arm"].to_numpy()]
    found = resampled(fit, current, items, own, seed)
    values, fitted = found.to_numpy(), own.to_numpy()
    rates, widened = with_spread(
        values.reshape(-1, len(names)), fitted.reshape(-1, fitted.shape[-1])
    )
    remarks = []
    if "intercept" in fit["posterior"].data_vars:
        remarks.append(PROMPTS_AT_HAND)
    if widened.any():
        who = some(np.array(names)[widened], 12)
        remarks.append(f"The evidence on single items is surer than the fit; widened to it: {who}.")
    return found.copy(data=rates.reshape(values.shape)).assign_coords(arm=names), remarks


def pairing_note(pairing: str, metric: str, n_shared: int, known: bool) -> str:
    """What the arms share, and why not more."""
    if pairing == "prompts":
        return (
            f"Prompts are resampled jointly: {n_shared} of them were answered by at least two "
            "arms. Draws of the labelers are shared."
        )
    shared = "Draws of the labelers are shared, prompts are not"
    if metric != "prevalence":
        return f"{shared}: {metric} is compared draw by draw."
    if known:
        return f"{shared}: no prompt was answered by two arms."
    return f"{shared}: pass current= (with prompt ids) to pair arms by prompt."


def calibration_notes(fit: xr.DataTree, names: dict[str, str]) -> list[str]:
    """That arms were labeled by different labelers, and what the fit did about it."""
    kinds = json.loads(str(fit.attrs.get("calibrated_apart", "[]")))
    arms = [[arm for arm, group in names.items() if group in kind] for kind in kinds]
    arms = [kind for kind in arms if kind]
    if len(arms) < 2:
        return []
    return [
        "Arms were labeled by different labelers, or got more labels an item than others "
        f"({'; '.join(some(kind, 12) for kind in arms)}): where errors are shared, each was "
        "calibrated on history's labels by its own labelers, and they share no calibration."
    ]


def comparison_dataset(
    rates: xr.DataArray,
    names: dict[str, str],
    reference: str,
    lower_is_better: bool,
    seed: int,
    notes: list[str],
) -> xr.Dataset:
    """Draws of rates and contrasts, chances of rank."""
    values = rates.to_numpy()
    rng = np.random.default_rng([seed, 7])
    ranks = ranks_of(values.reshape(-1, values.shape[-1]), lower_is_better, rng)
    order = np.arange(1, len(names) + 1)
    shares = (ranks[..., None] == order).mean(axis=0)
    beside = values[..., [list(names).index(reference)]]
    contrasts = {
        name: (("chain", "draw", "arm"), contrast_of(values, beside, name))
        for name in ("difference", "ratio", "odds_ratio")
    }
    return xr.Dataset(
        {
            "rate": rates,
            **contrasts,
            "probability_best": ("arm", shares[:, 0]),
            "rank_probability": (("arm", "rank"), shares),
        },
        coords={"arm": list(names), "rank": order, "group": ("arm", list(names.values()))},
        attrs={
            "reference": reference,
            "lower_is_better": int(lower_is_better),
            "notes": "\n".join(notes),
        },
    )


def with_rates(
    fit: xr.DataTree, metric: str, rates: xr.DataArray, groups: list[str]
) -> xr.DataTree:
    """The fit on the compared draws, with the compared rates in place."""
    kept = rates["draw"].to_numpy()
    groups_of_fit = {name: node.to_dataset() for name, node in fit.children.items()}
    for name in ("posterior", "sample_stats"):
        if name in groups_of_fit:
            groups_of_fit[name] = groups_of_fit[name].sel(draw=kept)
    posterior = groups_of_fit["posterior"]
    own = posterior[metric].transpose("chain", "draw", "group").copy(deep=True)
    place = [list(own["group"].to_numpy()).index(name) for name in groups]
    own.data[..., place] = rates.to_numpy()
    groups_of_fit["posterior"] = posterior.assign({metric: own})
    tree = xr.DataTree.from_dict(groups_of_fit)
    tree.attrs = dict(fit.attrs)
    return tree
