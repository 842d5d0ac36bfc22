"""Transport layer ``rigid``: the current round's labelers err exactly as they did in history."""

from hero_bayes.models.labelers import LabelerLayer


def rigid[Layer: LabelerLayer](history: Layer) -> Layer:
    """Labelers of the current round: those of history, unchanged.

    Every transport layer maps the labelers of history to those of the current round.
    """
    return history
