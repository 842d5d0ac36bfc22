"""Which answers are the same: normalised spellings, and clusters of answers within a prompt."""

import re
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.generations import Generations
from hero_bayes.data.identifiers import number_of, some
from hero_bayes.errors import DataError, Refusal

__all__ = ["NO_CLUSTER", "Cluster", "clusters", "has_answers", "normalise"]

#: Takes the answers of a prompt, gives one label an answer; equal labels are one cluster.
Cluster = Callable[[Sequence[str]], Sequence[Hashable]]
#: Code of a generation without an answer.
NO_CLUSTER = -1

#: A number and nothing else: sign, currency, digits with or without thousands separators, percent.
NUMBER = re.compile(
    r"(?P<sign>[+-]?) ?[$€£¥]? ?"
    r"(?P<digits>(?:[1-9]\d{0,2}(?:,\d{3})+|0|[1-9]\d*)(?:\.\d*)?|\.\d+) ?(?P<percent>%?)"
)


def normalise(answer: str) -> str:
    """One spelling for answers that differ in form only.

    Parameters
    ----------
    answer : str
        As the model gave it.

    Returns
    -------
    str
        Blanks collapsed and trimmed, case folded, a final full stop dropped, double quotes written
        as single ones where there are only double ones. An answer that is a number as a whole
        loses currency signs, thousands separators, a plus and trailing zeros; a percent sign
        stays, because 18% and 18 may be different answers.

    Examples
    --------
    >>> [normalise(text) for text in ("18.0", " $1,800 ", "1800.", "18%", "Paris.", "1,2")]
    ['18', '1800', '1800', '18%', 'paris', '1,2']
    """
    text = " ".join(answer.split()).casefold()
    match = NUMBER.fullmatch(text)
    if match:
        number = Decimal(match["digits"].replace(",", ""))
        digits = format(number, "f")
        if "." in digits:
            digits = digits.rstrip("0").rstrip(".")
        return f"{'-' if match['sign'] == '-' and number else ''}{digits}{match['percent']}"
    if text.endswith(".") and not text.endswith(".."):
        text = text[:-1].rstrip()
    return text.replace('"', "'") if "'" not in text else text


def has_answers(generations: Generations) -> bool:
    """Whether the table says what was answered."""
    return generations.answer is not None or generations.answer_cluster is not None


def clusters(generations: Generations, cluster: Cluster | None = None) -> NDArray[np.int64]:
    """Which answers of a prompt are the same, across models.

    Parameters
    ----------
    generations : Generations
        With an ``answer`` or an ``answer_cluster`` column.
    cluster : callable, optional
        Your own notion of "the same": called once a prompt with its distinct answers (list of
        str), returns one label an answer. Goes before the ``answer_cluster`` column, which goes
        before the spelling of `normalise`.

    Returns
    -------
    int64 array (generation)
        Codes 0, 1, ... within each prompt, in the order of first appearance; the same code under
        two models is the same answer. -1 where there is no answer; the empty string is one.

    Raises
    ------
    Refusal
        If the table has no answers.
    DataError
        If the callable returns another number of labels than it got answers.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"prompt": ["a"] * 3, "generation": [0, 1, 2]})
    >>> table = table.assign(correct=[1, 1, 0], answer=["7", "7.0", "8"])
    >>> clusters(Generations.from_frame(table)).tolist()
    [0, 0, 1]
    """
    prompt = _prompt_of_generation(generations)
    if cluster is not None and generations.answer is not None:
        codes = _by_caller(generations.prompts, generations.answer, prompt, cluster)
    elif generations.answer_cluster is not None:
        codes = pd.factorize(generations.answer_cluster)[0].astype(np.int64)
    elif generations.answer is not None and cluster is None:
        codes = _by_spelling(generations.answer)
    else:
        raise Refusal(
            "there are no answers to compare: give one row a generation with an 'answer' column "
            "(or 'answer_cluster')"
        )
    return _within_prompts(prompt, codes)


def _prompt_of_generation(generations: Generations) -> NDArray[np.int64]:
    if generations.cell_idx is None:
        raise Refusal(
            "counts do not say what was answered: give one row a generation with an 'answer' column"
        )
    return generations.prompt_idx[generations.cell_idx]


def _by_spelling(answer: NDArray[np.object_]) -> NDArray[np.int64]:
    raw, uniques = pd.factorize(answer)
    spelled = pd.factorize(np.array([normalise(str(text)) for text in uniques], dtype=object))[0]
    return np.append(spelled, NO_CLUSTER)[raw].astype(np.int64)


def _by_caller(
    prompts: NDArray[np.object_],
    answer: NDArray[np.object_],
    prompt: NDArray[np.int64],
    cluster: Cluster,
) -> NDArray[np.int64]:
    """Codes that differ between prompts, from the caller's labels of each prompt's answers."""
    raw, uniques = pd.factorize(answer)
    codes = np.full(len(raw), NO_CLUSTER, dtype=np.int64)
    order = np.argsort(prompt, kind="stable")
    ends = np.searchsorted(prompt[order], np.arange(len(prompts) + 1))
    for name, begin, end in zip(prompts, ends[:-1], ends[1:], strict=True):
        rows = order[begin:end]
        rows = rows[raw[rows] >= 0]
        if not rows.size:
            continue
        position, distinct = pd.factorize(raw[rows])
        labels = list(cluster([str(uniques[k]) for k in distinct]))
        if len(labels) != len(distinct):
            raise DataError(
                f"cluster returned {number_of(len(labels), 'label')} for "
                f"{number_of(len(distinct), 'answer')} of prompt {some([name])}; it must return "
                "one an answer"
            )
        seen: dict[Hashable, int] = {}
        codes[rows] = np.array([seen.setdefault(label, len(seen)) for label in labels])[position]
    return codes


def _within_prompts(prompt: NDArray[np.int64], codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the codes of each prompt from 0 in the order of first appearance."""
    result = np.full(len(codes), NO_CLUSTER, dtype=np.int64)
    rows = np.flatnonzero(codes >= 0)
    rows = rows[np.argsort(prompt[rows], kind="stable")]
    if rows.size:
        joint = prompt[rows] * (int(codes.max()) + 1) + codes[rows]
        number = pd.factorize(joint)[0].astype(np.int64)
        first = np.full(int(prompt.max()) + 1, len(rows), dtype=np.int64)
        np.minimum.at(first, prompt[rows], number)
        result[rows] = number - first[prompt[rows]]
    return result
