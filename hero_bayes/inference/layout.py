"""Variables of many shapes as one flat vector, and back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Layout:
    """Names and shapes of variables, in the order in which they are laid end to end."""

    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, point: Mapping[str, FloatArray], names: Sequence[str]) -> "Layout":
        """The layout of the named variables, with the shapes they have in ``point``."""
        return cls(tuple(names), tuple(np.shape(point[name]) for name in names))

    @property
    def sizes(self) -> list[int]:
        """Number of elements of each variable."""
        return [int(np.prod(shape)) for shape in self.shapes]

    def split(self, flat: FloatArray) -> dict[str, FloatArray]:
        """Variables by name from the flat vector."""
        parts = np.split(flat, np.cumsum(self.sizes)[:-1])
        return {
            name: part.reshape(shape)
            for name, part, shape in zip(self.names, parts, self.shapes, strict=True)
        }

    def join(self, point: Mapping[str, FloatArray]) -> FloatArray:
        """The flat vector of the variables."""
        return np.concatenate([np.ravel(point[name]) for name in self.names]).astype(float)


def join_gradient(parts: Sequence[FloatArray]) -> FloatArray:
    """Gradients of several variables as one flat vector."""
    return np.concatenate([np.ravel(part) for part in parts])
