"""The fixed part of a calibration study: who labels what, and which items carry gold."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hero_bayes.data.labels import Labels

__all__ = ["Design", "tables"]


@dataclass(frozen=True)
class Design:
    """Sizes of the two rounds.

    Attributes
    ----------
    n_history, n_current, n_labelers, labels_per_item : int
    gold_share, current_gold_share : float
        Shares of items with gold, at random.
    generations_per_prompt : int
        Consecutive items that are generations of one prompt; 1 gives no prompt ids.
    random_seed : int
        Chooses labelers and gold items, and the values of the covariate ``x``.
    """

    n_history: int = 120
    n_current: int = 60
    n_labelers: int = 5
    labels_per_item: int = 3
    gold_share: float = 0.4
    current_gold_share: float = 0.0
    generations_per_prompt: int = 1
    random_seed: int = 0


@lru_cache(maxsize=8)
def tables(design: Design) -> tuple[Labels, Labels]:
    """History and current round of a design: labels and gold are placeholders to be replaced."""
    if not 1 <= design.labels_per_item <= design.n_labelers:
        raise ValueError(
            f"labels_per_item must lie between 1 and n_labelers, got {design.labels_per_item}"
        )
    rng = np.random.default_rng(design.random_seed)
    history = _round(design, design.n_history, design.gold_share, rng)
    return history, _round(design, design.n_current, design.current_gold_share, rng)


def _round(design: Design, n_items: int, gold_share: float, rng: np.random.Generator) -> Labels:
    import pandas as pd

    order = np.argsort(rng.random((n_items, design.n_labelers)), axis=1)
    verdicts = pd.DataFrame(
        {
            "item": np.repeat(np.arange(n_items), design.labels_per_item),
            "labeler": order[:, : design.labels_per_item].ravel(),
            "label": 0,
        }
    )
    has_gold = rng.permutation(n_items) < round(gold_share * n_items)
    items = pd.DataFrame(
        {
            "item": np.arange(n_items),
            "gold": np.where(has_gold, 0.0, np.nan),
            "x": rng.standard_normal(n_items),
        }
    )
    if design.generations_per_prompt > 1:
        items["prompt"] = items["item"] // design.generations_per_prompt
    return Labels.from_frames(verdicts, items, covariates=["x"])
