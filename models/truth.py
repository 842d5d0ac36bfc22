"""What an outcome layer hands to the rest of a model: P(truth) of every item of both rounds."""

from dataclasses import dataclass

from pytensor.tensor.variable import TensorVariable


@dataclass(frozen=True)
class TruthPrior:
    """log P(truth 0) and log P(truth 1) of each item, (history_item, 2) and (item, 2)."""

    history: TensorVariable
    current: TensorVariable
