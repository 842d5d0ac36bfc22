"""What a labeler layer hands to the rest of a model: how likely an item's labels are."""

from typing import Protocol

from pytensor.tensor.variable import TensorVariable

from hero_bayes.data.labels import Labels


class LabelerLayer(Protocol):
    """P(labels | truth) of labelers on the coordinate ``labeler``."""

    def class_log_likelihood(
        self, labels: Labels, prefix: str = "", n_items: int | TensorVariable | None = None
    ) -> TensorVariable:
        """Log p(labels | truth 0) and log p(labels | truth 1) of each item, (item, 2).

        Parameters
        ----------
        labels : Labels
            On the labeler coordinate of the model.
        prefix : str
            Put before the names of the data containers, so that one model can hold two label
            tables.
        n_items : int or scalar tensor, optional
            The number of items, where it may change with the data of a compiled model.
        """
