"""Which items of a label table are generations of one prompt."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hero_bayes.data.labels import Labels

__all__ = ["PromptSlots", "prompt_slots"]


@dataclass(frozen=True)
class PromptSlots:
    """Items by prompt, a row a prompt.

    Attributes
    ----------
    names : tuple of str
        Prompts, with their group before them where there are several groups. Items without a prompt
        id are prompts of their own, named by the item.
    slots : int64 array (prompt, slot)
        1 + the position of each item of the prompt; 0 where there are no more. The number of slots
        is a power of two.
    group_idx, size : int64 array (prompt)
        The prompt's group, and how many items it has.
    """

    names: tuple[str, ...]
    slots: NDArray[np.int64]
    group_idx: NDArray[np.int64]
    size: NDArray[np.int64]


def prompt_slots(labels: Labels, role: str) -> PromptSlots:
    """Group the items of a round by (round, arm) group and prompt, in order of appearance."""
    groups = labels.groups(role)
    prompts = [None] * labels.n_items if labels.prompt is None else labels.prompt
    members: dict[tuple[int, str, bool], list[int]] = {}
    for i, prompt in enumerate(prompts):
        alone = prompt is None
        name = str(labels.items[i]) if alone else str(prompt)
        members.setdefault((int(labels.group_idx[i]), name, alone), []).append(i)
    size = np.array([len(items) for items in members.values()], dtype=np.int64)
    width = 1 << (int(size.max(initial=1)) - 1).bit_length()
    slots = np.zeros((len(members), width), dtype=np.int64)
    for row, items in enumerate(members.values()):
        slots[row, : len(items)] = np.array(items) + 1
    names = tuple(
        (name if len(groups) == 1 else f"{groups[group]}/{name}") + (" (item)" if alone else "")
        for group, name, alone in members
    )
    group_idx = np.array([group for group, _, _ in members], dtype=np.int64)
    return PromptSlots(names, slots, group_idx, size)
