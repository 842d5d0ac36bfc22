"""How the demo is told: on a terminal, or as one JSON object."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hero_bayes._version import __version__
from hero_bayes.cli.demo import PROB, Story
from hero_bayes.cli.dependence import dependence_content
from hero_bayes.cli.printing import Report, print_json
from hero_bayes.cli.tables import Row, data_counts, method_table
from hero_bayes.cli.wording import SPEAKS_OF, percent, percent_range
from hero_bayes.words import number_of

if TYPE_CHECKING:
    from hero_bayes.data.datasets import DemoRounds

__all__ = [
    "announce_posterior",
    "assumption",
    "covariate_words",
    "finding",
    "open_report",
    "write_data",
    "write_ending",
    "write_json",
    "write_methods",
    "write_posterior",
]

SCHEMA_VERSION = 2
NAME = "dices350"
#: Models that do not take raters to err independently.
SHARING = ("auto", "score", "correlated")
WHAT = {
    "majority_vote": "counts votes",
    "dawid_skene": "guesses the raters' quality from their agreement",
    "gold_rates": "error rates from gold alone",
    "hero1": "error rates from gold and all history",
    "hero2": "HERO-1 and covariates of the conversation",
}


def open_report() -> Report:
    """Start the report."""
    report = Report()
    report.title(f"hero-bayes {__version__} demo: how many replies of a chatbot are unsafe?")
    return report


def write_data(report: Report, rounds: "DemoRounds") -> None:
    """Tell what the two rounds hold."""
    from hero_bayes.data.datasets import available

    history, current = rounds.history, rounds.current
    positive, negative = int((history.gold == 1).sum()), int((history.gold == 0).sum())
    abstained = len(history.abstained_item) + len(current.abstained_item)
    report.heading("the data")
    report.text(
        "Crowd raters judged the last reply of adversarial conversations with a chatbot: unsafe or "
        "not. An expert panel's verdict is the gold. You want the share of unsafe replies in the "
        "current round, for which you have crowd labels only."
    )
    report.gap()
    report.bullet(
        f"history: {number_of(history.n_items, 'conversation')}, "
        f"{number_of(history.n_labels, 'label')} by {number_of(history.n_labelers, 'rater')}; "
        f"{history.n_gold:,} carry expert gold ({positive:,} unsafe, {negative:,} not)"
    )
    report.bullet(
        f"current round: {number_of(current.n_items, 'other conversation')}, {current.n_labels:,} "
        f"labels by the same {number_of(current.n_labelers, 'rater')}; no gold"
    )
    report.bullet(f"{abstained:,} times a rater was unsure: no verdict, never a 0")
    report.bullet(
        f"the truth, held back from every method: {percent(rounds.truth)} of the "
        f"{number_of(current.n_items, 'current conversation')} are unsafe by the experts"
    )
    entry = available().set_index("name").loc[NAME]
    report.text(f"\n{NAME}: {entry['citation']}. {entry['licence']}.")


def write_methods(report: Report, rounds: "DemoRounds", rows: Sequence[Row]) -> None:
    """Print the methods that need no sampling, beside the truth."""
    report.heading("the fast methods, beside the withheld truth")
    method_table(report, rows, PROB, extra=_beside(rounds.truth, rows), about=WHAT)
    report.text(f"\n{SPEAKS_OF} The truth is a share of these items.")


def announce_posterior(report: Report, model: str) -> None:
    """Say what comes next, and what it takes the raters to be."""
    report.heading("the posterior")
    if model in SHARING:
        report.text(
            f"Model {model}: raters may err on the same conversations, so that gold alone says "
            "what their labels are worth. --model hero is the paper's: independent raters, by NUTS."
        )
    else:
        report.text(f"Model {model}; raters are learned from history alone.")


def covariate_words(adjusted: Row, rows: Sequence[Row]) -> str:
    """What the covariates do to the variance, and to the width of the interval, which may differ.

    Parameters
    ----------
    adjusted : Row
        The row of the adjusted posterior.
    rows : sequence of Row
        All rows of the posterior; the one of new items without covariates is compared.
    """
    (plain,) = (r for r in rows if r["estimand"] == "prevalence" and r["method"] == "posterior")
    narrower = adjusted["upper"] - adjusted["lower"] < plain["upper"] - plain["lower"]
    share = adjusted["variance_removed_percent"]
    effect = f"remove {share:.1f} %" if share >= 0 else f"add {-share:.1f} %"
    return (
        f"The covariates {effect} of the variance; the adjusted interval is "
        f"{'narrower' if narrower else 'no narrower'} than without them."
    )


def write_posterior(report: Report, story: Story) -> None:
    """Print the posterior, beside the truth."""
    rows = story.posterior
    extra = _beside(story.rounds.truth, rows)
    extra["R-hat"] = ["-" if row["r_hat"] is None else f"{row['r_hat']:.3f}" for row in rows]
    report.gap()
    method_table(report, rows, PROB, extra=extra)
    for row in rows:
        if row["variance_removed_percent"] is not None:
            report.text(f"\n{covariate_words(row, rows)}")
    if story.diagnosis is not None:
        report.gap()
        report.text(f"{story.diagnosis.headline}.")
        for reason in story.diagnosis.reasons:
            report.bullet(f"do not use this posterior: {reason}.")
        for note in story.diagnosis.notes:
            report.bullet(f"{note}.")


def write_ending(report: Report, story: Story, saved: Path | None) -> None:
    """Say what the answer rests on, and end with the finding."""
    report.heading("what it rests on")
    report.text(assumption(story))
    if saved is not None:
        report.heading("written")
        report.text(f"{saved}: read it with hero_bayes.load, plot it with ArviZ")
    report.finding(finding(story))


def write_json(story: Story, seed: int, saved: Path | None) -> None:
    """Write the JSON object."""
    rounds = story.rounds
    print_json(
        {
            "schema_version": SCHEMA_VERSION,
            "hero_bayes_version": __version__,
            "command": "demo",
            "prob": PROB,
            "random_seed": seed,
            "truth": rounds.truth,
            "data": {
                "history": data_counts(rounds.history),
                "current": data_counts(rounds.current),
            },
            "estimates": [_with_truth(row, rounds.truth) for row in story.methods],
            "posterior": [_with_truth(row, rounds.truth) for row in story.posterior],
            "gate": _gate(story),
            "model": story.model,
            "chosen": story.chosen or None,
            "dependence": dependence_content(story.dependence),
            "posterior_file": None if saved is None else str(saved),
            "assumption": assumption(story),
            "finding": finding(story),
        }
    )


def _gate(story: Story) -> dict[str, Any] | None:
    """The verdict for machines."""
    if story.diagnosis is None:
        return None
    told = story.diagnosis
    return {"passed": told.passed, "reasons": list(told.reasons), "notes": list(told.notes)}


def assumption(story: Story) -> str:
    """Say what the answer takes for granted, and whether the gold contradicts it."""
    found, row = story.dependence, _item_rate(story)
    interval = f"{100 * PROB:g} % interval ({percent_range(row['lower'], row['upper'])})"
    hit = _covers(row, story.rounds.truth)
    gold = number_of(found.n_items, "gold conversation")
    if found.visible:
        seen = (
            f"On the {gold} raters err together: their errors correlate by {found.overall} within "
            f"a class, and {found.sentence}."
        )
    else:
        seen = (
            f"The {gold} do not show that raters err together (correlation {found.overall} within "
            "a class)."
        )
    if story.model in SHARING:
        chosen = f" {story.chosen}." if story.chosen else ""
        return (
            f"{seen}{chosen}\nThe {interval} takes labels to mean now what they meant on gold, "
            "not that raters are independent; it is as wide as "
            f"{number_of(gold_of(story), 'gold verdict')} leave it, and "
            f"{'covers' if hit else 'misses'} the truth."
        )
    if found.visible:
        cost = "counts evidence that is not there and is too narrow"
        end = "even though it covers the truth this time" if hit else "and it misses the truth"
        return f"{seen}\nThis model takes them to be independent: its {interval} {cost}, {end}."
    if hit:
        return f"{seen}\nThis model takes them to be independent; its {interval} covers the truth."
    return (
        f"{seen}\nYet the {interval} of a model that takes them to be independent misses the "
        "truth, so something else moved between the rounds."
    )


def gold_of(story: Story) -> int:
    """Gold verdicts of the history."""
    return story.rounds.history.n_gold


def finding(story: Story) -> str:
    """The last sentence."""
    truth, row = story.rounds.truth, _item_rate(story)
    vote = next(entry for entry in story.methods if entry["method"] == "majority_vote")
    gold = gold_of(story)
    before, after = abs(vote["estimate"] - truth), abs(row["estimate"] - truth)
    verb = "bring it to" if after < before else "only move it to"
    text = (
        f"Majority vote says {percent(vote['estimate'])} of the replies are unsafe where experts "
        f"say {percent(truth)}; {number_of(gold, 'gold verdict')} on past conversations {verb} "
        f"{percent(row['estimate'])} ({100 * PROB:g} % credible interval "
        f"{percent_range(row['lower'], row['upper'])}, which "
        f"{'covers' if _covers(row, truth) else 'misses'} the truth)"
    )
    if story.dependence.visible and story.model not in SHARING:
        text += ", an interval to trust less than it looks because raters share errors"
    return f"{text}."


def _item_rate(story: Story) -> Row:
    """The row that speaks of the same thing as the truth."""
    return next(row for row in story.posterior if row["estimand"] == "item_rate")


def _covers(row: Row, truth: float) -> bool:
    return bool(row["lower"] <= truth <= row["upper"])


def _beside(truth: float, rows: Sequence[Row]) -> dict[str, list[str]]:
    """Columns that put the truth beside each row."""
    answered = [not row["refused"] for row in rows]
    return {
        "truth": [percent(truth)] * len(rows),
        "off by": [
            f"{100 * (row['estimate'] - truth):+.1f}" if ok else ""
            for row, ok in zip(rows, answered, strict=True)
        ],
        "covers": [
            ("yes" if _covers(row, truth) else "no") if ok else ""
            for row, ok in zip(rows, answered, strict=True)
        ],
    }


def _with_truth(row: Row, truth: float) -> dict[str, Any]:
    return {**row, "covers_truth": None if row["refused"] else _covers(row, truth)}
