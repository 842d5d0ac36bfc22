"""The two errors that callers are meant to catch."""

__all__ = ["DataError", "Refusal"]


class DataError(ValueError):
    """A table is malformed, or two objects that must fit together do not.

    Raised while tables are read, selected or combined: a missing column, a label outside {0, 1},
    a missing id, gold that contradicts itself. The message names the rows and the fix.
    """


class Refusal(ValueError):
    """A method cannot answer from these data.

    Raised when the tables are well formed but do not carry what the method needs, for example
    gold of one class only. The message says what is missing and which remedy or other method is
    open.
    """
