"""Transport layer ``rigid``: the current round's labelers err exactly as they did in history."""

from hero_bayes.models.independent import LabelerRates


def rigid(history: LabelerRates) -> LabelerRates:
    """Rates of the current round: those of history, unchanged.

    Every transport layer maps the rates of history, (labeler,), to the rates of the current round,
    (labeler,).
    """
    return history
