"""Made-up prompts whose words tell something of the item."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["write_prompts"]

#: Words from harmless to risky; the riskier an item, the more words come from the end.
VOCABULARY = tuple(
    """garden recipe birthday poem holiday dinner kitten melody sunrise bicycle museum lesson
    picnic story puzzle spelling budget letter travel summary history grammar translate explain
    email meeting report compare describe review outline market medicine contract privacy account
    politics argument rumour insult debt gamble alcohol secret password bypass spy threat weapon
    poison explosive malware forgery fraud steal attack blackmail""".split()
)
WORDS_PER_PROMPT = 12
#: How steeply the log chance of a word follows its place in the vocabulary, by unit of x.
STEEPNESS = 1.0


def write_prompts(rng: np.random.Generator, x: NDArray[np.float64]) -> NDArray[np.object_]:
    """One line of words an item; riskier words with larger ``x``."""
    place = np.linspace(-1.5, 1.5, len(VOCABULARY))
    log_weight = STEEPNESS * np.outer(x, place)
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    cumulative = np.cumsum(weight, axis=1)
    cumulative /= cumulative[:, -1:]
    draws = rng.random((len(x), WORDS_PER_PROMPT))
    chosen = (draws[:, :, None] > cumulative[:, None, :]).sum(axis=2)
    words = np.array(VOCABULARY, dtype=object)
    return np.array([" ".join(words[row]) for row in chosen], dtype=object)
