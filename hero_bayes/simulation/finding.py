"""What a study says, in plain words: which method is best where, and where the majority wins."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["best_methods", "finding"]

TITLES = {
    "majority_vote": "majority vote",
    "dawid_skene": "Dawid-Skene",
    "gold_rates": "gold rates",
    "hero1": "HERO-1",
    "hero2": "HERO-2",
    "score": "calibrated score",
}
VOTE = "majority_vote"
#: A method counts as level with the best when its RMSE is less than so many Monte-Carlo errors
#: above.
LEVEL = 2.0
SETTINGS_NAMED = 4


def best_methods(table: "pd.DataFrame") -> dict[str, tuple[str, ...]]:
    """Setting to its methods level with the best, the best first.

    Parameters
    ----------
    table : DataFrame
        The table of a `StudyResult`.
    """
    found = {}
    for setting, part in table.dropna(subset=["rmse"]).groupby("setting", sort=False):
        level = part[part["behind_best"] < LEVEL].sort_values("rmse", kind="stable")
        found[str(setting)] = tuple(level["method"])
    return found


def finding(table: "pd.DataFrame") -> str:
    """One or two sentences on the whole table."""
    best = best_methods(table)
    if not best:
        return "No method could answer in any setting."
    winners: dict[str, list[str]] = {}
    for setting, methods in best.items():
        winners.setdefault(methods[0], []).append(setting)
    parts = []
    for method, settings in sorted(winners.items(), key=lambda entry: -len(entry[1])):
        rmse = table[table["setting"].isin(settings) & (table["method"] == method)]["rmse"]
        parts.append(
            f"{_title(method)} has the smallest RMSE at {_share(settings, len(best))} "
            f"({_range(rmse.min(), rmse.max())}){_level(best, method, settings)}"
        )
    return "; ".join(parts) + ". " + _votes(table, best)


def _votes(table: "pd.DataFrame", best: dict[str, tuple[str, ...]]) -> str:
    """Where majority vote wins, ties, or loses."""
    vote = table[table["method"] == VOTE].set_index("setting")
    if vote.empty:
        return "Majority vote was not among the methods."
    wins = [setting for setting, methods in best.items() if methods[0] == VOTE]
    level = [setting for setting, methods in best.items() if VOTE in methods[1:]]
    said = []
    for verb, settings in (("wins", wins), ("is level with the best", level)):
        if settings:
            bias = vote.loc[settings, "bias"]
            said.append(
                f"{verb} at {_names(settings)}, where its bias is only "
                f"{_range(bias.min(), bias.max(), sign=True)}"
            )
    if said:
        return f"Majority vote {' and '.join(said)}."
    bias = vote["bias"]
    return (
        f"Majority vote wins nowhere: its bias is {_range(bias.min(), bias.max(), sign=True)}, "
        "which costs more than the spread of the others."
    )


def _level(best: dict[str, tuple[str, ...]], method: str, settings: list[str]) -> str:
    """Who is level with the winner everywhere it wins."""
    others = set.intersection(*(set(best[setting]) for setting in settings)) - {method}
    if not others:
        return ""
    names = " and ".join(sorted(map(_title, others)))
    return f", {names} within Monte-Carlo error"


def _title(method: str) -> str:
    return TITLES.get(method, method)


def _share(settings: list[str], total: int) -> str:
    if total == 1:
        return "the only setting"
    if len(settings) == total:
        return f"all {total} settings"
    if len(settings) <= SETTINGS_NAMED:
        return _names(settings)
    return f"{len(settings)} of {total} settings"


def _names(settings: list[str]) -> str:
    named = [f'"{setting}"' for setting in settings[:SETTINGS_NAMED]]
    more = len(settings) - len(named)
    return ", ".join(named) + (f" and {more} more settings" if more else "")


def _range(low: float, high: float, sign: bool = False) -> str:
    pattern = "+.3f" if sign else ".3f"
    first, second = format(low, pattern), format(high, pattern)
    return first if first == second else f"{first} to {second}"
