"""One hash for the content of a label table."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from hero_bayes.data.labels import Labels

__all__ = ["fingerprint", "hash_of"]

CONTENT = (
    "items",
    "labelers",
    "item_ptr",
    "labeler_idx",
    "label",
    "gold",
    "group_idx",
    "group_round",
    "group_arm",
    "covariates",
    "texts",
    "prompt",
    "prompt_group",
    "generation",
    "gold_prob",
    "family",
    "version",
    "abstained_item",
    "abstained_labeler",
)
NO_WORD = -1


def fingerprint(labels: "Labels") -> str:
    """Return the SHA-256 (hex) over every content field in canonical form.

    The counters of what reading left out are no content: they say how the table came about.
    """
    return hash_of(labels, CONTENT)


def hash_of(table: object, content: Iterable[str]) -> str:
    """Return the SHA-256 (hex) over the named fields of a table, in canonical form."""
    digest = hashlib.sha256()
    for name in content:
        digest.update(name.encode() + b"\x00")
        for piece in _pieces(getattr(table, name)):
            digest.update(piece)
    return digest.hexdigest()


def _pieces(value: Any) -> Iterable[bytes]:
    if value is None:
        yield b"none"
    elif isinstance(value, Mapping):
        for key in sorted(value):
            yield from _words([key])
            yield from _pieces(value[key])
    elif isinstance(value, tuple) or value.dtype == object:
        yield from _words(value)
    else:
        yield from _numbers(value)


def _words(words: Iterable[str | None]) -> Iterable[bytes]:
    encoded = [None if word is None else word.encode("utf-8", "surrogatepass") for word in words]
    sizes = np.array([NO_WORD if word is None else len(word) for word in encoded], dtype="<i8")
    yield b"words" + len(sizes).to_bytes(8, "little")
    yield sizes.tobytes()
    yield b"".join(word for word in encoded if word is not None)


def _numbers(array: NDArray[Any]) -> Iterable[bytes]:
    little = array.astype(array.dtype.newbyteorder("<"))
    if little.dtype.kind == "f":
        little = np.where(np.isnan(little), np.nan, little + 0.0)  # one NaN, one zero
    yield little.dtype.str.encode() + len(little).to_bytes(8, "little")
    yield little.tobytes()
