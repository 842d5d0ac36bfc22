"""Typed reading of one TOML table; every problem is collected, none is raised."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Fields", "checked", "is_number"]

Scalar = str | int | float | bool


def is_number(value: Any) -> bool:
    """Whether a TOML value is a finite number (true and false are none)."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


@dataclass(frozen=True)
class Fields:
    """A table of the config file.

    Attributes
    ----------
    content : mapping
        The table.
    where : str
        Its name for messages, such as "[data]".
    problems : list of str
        One sentence for everything wrong; grows as fields are read.
    """

    content: Mapping[str, Any]
    where: str
    problems: list[str]

    def know(self, keys: Sequence[str]) -> None:
        """Name every key that means nothing."""
        for key in self.content:
            if key not in keys:
                self.wrong(key, f"unknown key; known are {', '.join(keys)}", said=False)

    def wrong(self, key: str, fault: str, *, said: bool = True) -> None:
        """Add a problem of one key, with the value that stands there unless ``said`` is False."""
        value = f", got {self.content[key]!r}" if said and key in self.content else ""
        self.problems.append(f"{self.where} {key}: {fault}{value}".lstrip())

    def text(self, key: str) -> str | None:
        """A text that is not empty."""
        value = self.content.get(key)
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        self.wrong(key, "must be a text")
        return None

    def choice(self, key: str, choices: Sequence[str], default: str) -> str:
        """One of a few words."""
        value = self.content.get(key, default)
        if isinstance(value, str) and value in choices:
            return value
        self.wrong(key, f"must be one of {', '.join(choices)}")
        return default

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self.content.get(key, default)
        if isinstance(value, bool):
            return value
        self.wrong(key, "must be true or false")
        return default

    def whole(self, key: str, default: int, least: int) -> int:
        """A whole number of at least ``least``."""
        value = self.content.get(key, default)
        if isinstance(value, int) and not isinstance(value, bool) and value >= least:
            return value
        self.wrong(key, f"must be a whole number, {least} or more")
        return default

    def names(self, key: str) -> tuple[str, ...] | None:
        """A list of texts, or one text; None where the key is missing."""
        value = self.content.get(key)
        if value is None:
            return None
        listed = [value] if isinstance(value, str) else value
        if isinstance(listed, list) and all(isinstance(name, str) and name for name in listed):
            if len(set(listed)) == len(listed):
                return tuple(listed)
            self.wrong(key, "names one of them twice")
        else:
            self.wrong(key, "must be a list of names")
        return None

    def numbers(self, key: str) -> tuple[float, ...] | None:
        """A list of finite numbers; None where the key is missing."""
        value = self.content.get(key)
        if value is None:
            return None
        if isinstance(value, list) and value and all(map(is_number, value)):
            return tuple(float(number) for number in value)
        self.wrong(key, "must be a list of numbers")
        return None

    def scalars(self, key: str) -> tuple[Scalar, ...]:
        """A list of texts, numbers or truth values, or one of them."""
        value = self.content.get(key, [])
        listed = value if isinstance(value, list) else [value]
        if all(isinstance(entry, str | int | float) for entry in listed):
            return tuple(listed)
        self.wrong(key, "must be a value or a list of values")
        return ()

    def table(self, key: str) -> "Fields":
        """A table inside this one; empty where it is missing or none."""
        value = self.content.get(key, {})
        if not isinstance(value, Mapping):
            self.wrong(key, "must be a table")
            value = {}
        inside = f"[{key}]" if not self.where else f"{self.where} {key}:"
        return Fields(value, inside, self.problems)


def checked(fault: Exception) -> str:
    """The message of an error on one line, for a list of problems."""
    return " ".join(str(fault).split())
