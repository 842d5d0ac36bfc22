"""Whether tables that were passed to a function are label tables."""

from typing import Any

from hero_bayes.data.labels import Labels

__all__ = ["need_labels"]


def need_labels(**tables: Any) -> None:
    """Reject what is no label table, such as a DataFrame; tables are given by their role.

    Raises
    ------
    TypeError
        If one is no ``Labels``.

    Examples
    --------
    >>> need_labels(history=3)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    TypeError: history must be hb.Labels, got int; ...
    """
    for role, labels in tables.items():
        if not isinstance(labels, Labels):
            raise TypeError(
                f"{role} must be hb.Labels, got {type(labels).__name__}; read tables with "
                "hb.Labels.from_frames or from_csv"
            )
