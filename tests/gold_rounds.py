"""Rounds for the tests of planning."""

import numpy as np
from toy import make_labels


def simulated(
    seed,
    n_history=150,
    n_current=80,
    gold=40,
    labelers=5,
    gold_everywhere=False,
    current_gold=False,
):
    """Labelers of rate 0.75 to 0.85 that err independently; items are named by numbers."""
    rng = np.random.default_rng(seed)
    right = np.linspace(0.75, 0.85, labelers)
    made = []
    for n, rate, current in ((n_history, 0.4, False), (n_current, 0.3, True)):
        truth = (rng.random(n) < rate).astype(int)
        agrees = rng.random((n, labelers)) < right
        label = np.where(agrees, truth[:, None], 1 - truth[:, None])
        known = rng.permutation(n) < gold
        if current or gold_everywhere:
            known[:] = current_gold or not current
        facts = {"gold": np.where(known, truth, np.nan)}
        item, who = np.divmod(np.arange(n * labelers), labelers)
        made.append(make_labels(item, who, label.ravel(), facts))
    return tuple(made)


def shuffled(labels):
    """The same table from rows in another order."""
    frames = labels.to_frames()
    mixed = [frame.sample(frac=1.0, random_state=1) for frame in (frames.labels, frames.items)]
    return type(labels).from_frames(*mixed)
