"""Whether a table that was passed to a function is a label table."""

from typing import Any

from hero_bayes.data.labels import Labels


def need_labels(role: str, labels: Any) -> None:
    """Reject what is no label table, such as a DataFrame.

    Parameters
    ----------
    role : str
        Name of the argument.
    labels : Any

    Raises
    ------
    TypeError
        If it is no ``Labels``.

    Examples
    --------
    >>> need_labels("history", 3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    TypeError: history must be hb.Labels, got int; ...
    """
    if not isinstance(labels, Labels):
        raise TypeError(
            f"{role} must be hb.Labels, got {type(labels).__name__}; read tables with "
            "hb.Labels.from_frames or from_csv"
        )
