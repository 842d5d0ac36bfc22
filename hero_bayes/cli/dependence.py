"""How a report tells whether labelers err on the same items."""

from typing import TYPE_CHECKING, Any

from hero_bayes.errors import Refusal

if TYPE_CHECKING:
    from hero_bayes.agreement.result import Dependence
    from hero_bayes.cli.printing import Report
    from hero_bayes.data.labels import Labels

__all__ = ["dependence_content", "measured", "write_dependence"]


def measured(labels: "Labels") -> "Dependence | str":
    """Dependence of the labelers, or why it cannot be measured."""
    from hero_bayes.agreement.dependence import dependence

    try:
        return dependence(labels)
    except Refusal as refusal:
        return str(refusal)


def write_dependence(report: "Report", found: "Dependence | str") -> None:
    """Print the section."""
    report.heading("do labelers err together, given the truth")
    if isinstance(found, str):
        report.text(f"not measured: {found}")
        return
    report.text(str(found))
    if found.visible:
        report.text(
            'The default model of hb.fit, "auto", allows for it; independent-errors intervals do '
            "not."
        )


def dependence_content(found: "Dependence | str") -> dict[str, Any]:
    """The numbers for machines."""
    if isinstance(found, str):
        return {"measured": False, "reason": found}
    return {
        "measured": True,
        "visible": found.visible,
        "correlation": vars(found.overall),
        "effective_judges": vars(found.effective_judges),
        "labels_per_item": found.labels_per_item,
        "n_items": found.n_items,
        "n_judges": found.n_judges,
        "sentence": found.sentence,
    }
