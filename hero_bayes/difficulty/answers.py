"""Which answers are the same: normalised spellings, and clusters of answers within a prompt."""

import ast
import re
import warnings
from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hero_bayes.data.generations import Generations
from hero_bayes.data.identifiers import number_of, some
from hero_bayes.errors import DataError, Refusal

__all__ = ["NO_CLUSTER", "Cluster", "clusters", "has_answers", "merged", "normalise"]

#: Takes the answers of a prompt, gives one label an answer; equal labels are one cluster.
Cluster = Callable[[Sequence[str]], Sequence[Hashable]]
#: Code of a generation without an answer.
NO_CLUSTER = -1

#: A number and nothing else: sign, currency, digits with or without thousands separators, percent.
NUMBER = re.compile(
    r"(?P<sign>[+-]?) ?[$€£¥]? ?"
    r"(?P<digits>(?:[1-9]\d{0,2}(?:,\d{3})+|0|[1-9]\d*)(?:\.\d*)?|\.\d+) ?(?P<percent>%?)"
)
#: What stands around an answer without being part of it.
WRAPPERS = (
    re.compile(r"\$\$?(?P<inner>[^$]+)\$\$?"),
    re.compile(r"\\\((?P<inner>.+)\\\)|\\\[(?P<display>.+)\\\]", re.DOTALL),
    re.compile(r"\\(?:boxed|fbox|text|mathrm|textbf|mathbf) ?\{(?P<inner>[^{}]*)\}"),
    re.compile(r"\*\*(?P<inner>[^*]+)\*\*"),
)
#: A letter of a multiple choice.
CHOICE = re.compile(r"\(?(?P<letter>[A-Za-z])[).]?|\[(?P<bracketed>[A-Za-z])\]")
#: Dashes that stand for a minus.
MINUS = str.maketrans(dict.fromkeys("\u2212\u2013\ufe63\uff0d", "-"))
#: Words and their punctuation; anything else may be code, where case and blanks have a meaning.
WORDS = re.compile(r"(?:[^\W_]|(?<=[^\W_])['\u2019](?=[^\W_])|[\s.,;:!?%°€£¥$&+-])*")
LITERALS = ("'", '"', "[", "(", "{")


def normalise(answer: str, fold: bool = True) -> str:
    r"""One spelling for answers that differ in form only.

    Parameters
    ----------
    answer : str
        As the model gave it.
    fold : bool
        Whether case and blanks between words are of no account. In answers with quotes, brackets or
        other signs of code they always are.

    Returns
    -------
    str
        Without blanks at the ends and without what stands around the answer (``$...$``,
        ``\boxed{...}``, ``**...**``, the brackets of a choice). A number as a whole loses
        currency signs, thousands separators, a plus and trailing zeros; a percent sign stays,
        because 18% and 18 may be different answers. Of words, case and blanks are folded and a
        final full stop is dropped. A Python literal is written as Python writes it, with the
        case and the blanks inside its quotes. All else stays as it is.

    Examples
    --------
    >>> [normalise(text) for text in ("18.0", " $1,800 ", "$1800$", "18%", "Paris.", "1,2")]
    ['18', '1800', '1800', '18%', 'paris', '1,2']
    >>> [normalise(text) for text in ("\\boxed{7}", "(A)", "['a',  'B c']", "x = 'a'", "X = 'a'")]
    ['7', 'a', "['a', 'B c']", "x = 'a'", "X = 'a'"]
    """
    text = _unwrapped(answer)
    number = _number(text)
    if number is not None:
        return number
    choice = CHOICE.fullmatch(text)
    if choice:
        letter = choice["letter"] or choice["bracketed"]
        return letter.casefold() if fold else letter
    if not _is_code(text):
        if not fold:
            return text
        text = " ".join(text.translate(MINUS).split()).casefold()
        return text[:-1].rstrip() if text.endswith(".") and not text.endswith("..") else text
    return _literal(text)


def _unwrapped(answer: str) -> str:
    """The answer without blanks at its ends and without what stands around it."""
    text = answer.strip()
    for _ in range(5):
        match = next(filter(None, (pattern.fullmatch(text) for pattern in WRAPPERS)), None)
        if match is None:
            break
        text = next(filter(None, match.groups()), "").strip()
    return text.replace("\\%", "%").replace("\\$", "$") if len(text) < 40 else text


def _number(text: str) -> str | None:
    """The canonical spelling of a number; None for anything else."""
    match = NUMBER.fullmatch(" ".join(text.translate(MINUS).removesuffix(".").split()))
    if match is None:
        return None
    number = Decimal(match["digits"].replace(",", ""))
    digits = format(number, "f")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return f"{'-' if match['sign'] == '-' and number else ''}{digits}{match['percent']}"


def _is_code(text: str) -> bool:
    """Whether case and blanks may have a meaning in an answer."""
    return not (WORDS.fullmatch(text) or CHOICE.fullmatch(text) or _number(text))


def _literal(text: str) -> str:
    """A Python literal as Python writes it; anything else as it is."""
    if not text.startswith(LITERALS):
        return text
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # r'\ ' in an answer is no fault of ours
            tree = ast.parse(text, mode="eval")
        value = ast.literal_eval(tree)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text
    # the order of a set is not that of its elements
    unordered = any(isinstance(node, ast.Set) for node in ast.walk(tree))
    return ast.unparse(tree) if unordered else repr(value)


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
        before the spelling of `normalise`, which never joins an answer that the key accepted with
        one that it rejected, and folds case only where the accepted answers of the prompt (all of
        them, where none is) hold no code.

    Returns
    -------
    int64 array (generation)
        Codes 0, 1, ... within each prompt, in the order of first appearance; the same code under
        two models is the same answer. -1 where there is no answer, or an empty one.

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
        codes = _by_spelling(generations, prompt)
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


def merged(generations: Generations, codes: NDArray[np.int64]) -> list[str]:
    """Name the different texts that count as one answer, by prompt; "" where there are none."""
    said = [""] * generations.n_prompts
    if generations.answer is None:
        return said
    frame = pd.DataFrame(
        {"prompt": _prompt_of_generation(generations), "code": codes, "text": generations.answer}
    )
    texts = frame[frame["code"] != NO_CLUSTER].drop_duplicates()
    for prompt, part in texts[texts.duplicated(["prompt", "code"], keep=False)].groupby("prompt"):
        groups = (sorted(map(str, one)) for _, one in part.groupby("code")["text"])
        said[int(str(prompt))] = "; ".join(f"read as one answer: {some(one, 3)}" for one in groups)
    return said


def _by_spelling(generations: Generations, prompt: NDArray[np.int64]) -> NDArray[np.int64]:
    """Codes of spellings; texts of one prompt with other verdicts have other codes."""
    assert generations.answer is not None
    assert generations.correct is not None
    raw, uniques = pd.factorize(generations.answer)
    texts = [str(text) for text in uniques]
    correct, given = generations.correct == 1, raw >= 0
    code = np.append([_is_code(_unwrapped(text)) for text in texts], False).astype(bool)[raw]
    accepted = np.bincount(prompt[correct & given], minlength=generations.n_prompts) > 0
    telling = given & (correct | ~accepted[prompt])
    exact = np.bincount(prompt[telling & code], minlength=generations.n_prompts) > 0
    folded, kept = ([normalise(text, fold) for text in texts] for fold in (True, False))
    spelling = np.append(pd.factorize(np.array([*folded, *kept], dtype=object))[0], NO_CLUSTER)
    codes = spelling[np.where(given, raw + len(texts) * exact[prompt], -1)]
    empty = np.append([not text for text in folded], True).astype(bool)[raw]
    frame = pd.DataFrame({"prompt": prompt, "raw": raw, "correct": correct})
    verdict = frame.groupby(["prompt", "raw"])["correct"].transform("mean").to_numpy()
    kind = np.select([verdict == 0, verdict == 1], [0, 1], 2)
    return np.where(empty, NO_CLUSTER, codes * 3 + kind).astype(np.int64)


def _by_caller(
    prompts: NDArray[np.object_],
    answer: NDArray[np.object_],
    prompt: NDArray[np.int64],
    cluster: Cluster,
) -> NDArray[np.int64]:
    """Codes that differ between prompts, from the caller's labels of each prompt's answers."""
    raw, uniques = pd.factorize(answer)
    given = np.append([bool(str(text).strip()) for text in uniques], False).astype(bool)[raw]
    codes = np.full(len(raw), NO_CLUSTER, dtype=np.int64)
    order = np.argsort(prompt, kind="stable")
    ends = np.searchsorted(prompt[order], np.arange(len(prompts) + 1))
    for name, begin, end in zip(prompts, ends[:-1], ends[1:], strict=True):
        rows = order[begin:end]
        rows = rows[given[rows]]
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
