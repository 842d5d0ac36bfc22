"""Covariates of two rounds as matrices: numeric columns, and text as TF-IDF features."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hero_bayes.errors import DataError, Refusal

if TYPE_CHECKING:
    from hero_bayes.data.labels import Labels

__all__ = ["Design", "TextCovariates", "design"]


@dataclass(frozen=True)
class TextCovariates:
    """A text column turned into TF-IDF features.

    Stands among the names in ``covariates=``. The vocabulary and the weights are learnt from
    the history texts alone and then applied to the current round.

    Parameters
    ----------
    column : str
        The text column, for example "prompt".
    max_features : int
        Keep at most so many words, the most frequent ones.
    min_df : int
        Leave out words that occur in fewer history texts than this.
    ngram_range : tuple of int
        Lengths of the word sequences that become features.

    Examples
    --------
    >>> TextCovariates("prompt", max_features=50)
    TextCovariates(column='prompt', max_features=50, min_df=2, ngram_range=(1, 1))
    """

    column: str
    max_features: int = 200
    min_df: int = 2
    ngram_range: tuple[int, int] = (1, 1)


@dataclass(frozen=True)
class Design:
    """Covariates of history and current round, column by column the same.

    Attributes
    ----------
    names : tuple of str
        One per column; text features are "column: word".
    history, current : float array (item, covariate)
        Raw values, neither centred nor scaled.
    """

    names: tuple[str, ...]
    history: NDArray[np.float64]
    current: NDArray[np.float64]


def design(
    history: "Labels",
    current: "Labels",
    covariates: str | TextCovariates | Iterable[str | TextCovariates] | None = None,
) -> Design:
    """Build the covariate matrices of two rounds.

    Parameters
    ----------
    history, current : Labels
        Both must carry the columns.
    covariates : name, TextCovariates, or several of them, optional
        None: the numeric covariates declared in both, possibly none.

    Returns
    -------
    Design
        Columns in the order of ``covariates``.

    Raises
    ------
    DataError
        If a column was not declared on one of the two.
    Refusal
        If no word of the history texts is frequent enough.
    """
    if covariates is None:
        covariates = [name for name in history.covariates if name in current.covariates]
    elif isinstance(covariates, str | TextCovariates):
        covariates = [covariates]
    names: list[str] = []
    columns: list[NDArray[np.float64]] = [np.empty((history.n_items, 0))]
    current_columns: list[NDArray[np.float64]] = [np.empty((current.n_items, 0))]
    for entry in covariates:
        if isinstance(entry, TextCovariates):
            words, past, now = _text_features(history, current, entry)
            names.extend(words)
        else:
            _require(entry, "covariates", history, current)
            names.append(entry)
            past = history.covariates[entry][:, None]
            now = current.covariates[entry][:, None]
        columns.append(past)
        current_columns.append(now)
    if len(set(names)) < len(names):
        raise DataError(f"covariates= names a column twice: {names}")
    return Design(tuple(names), np.hstack(columns), np.hstack(current_columns))


def _require(name: str, kind: str, history: "Labels", current: "Labels") -> None:
    for side, labels in (("history", history), ("current", current)):
        if name not in getattr(labels, kind):
            declared = sorted(getattr(labels, kind))
            entry = f"{name!r}" if kind == "covariates" else f"hb.TextCovariates({name!r})"
            raise DataError(
                f"covariate {name!r} is not declared on the {side} labels (declared: "
                f"{declared}); declare it with Labels.from_frames(..., covariates=[{entry}])"
            )


def _text_features(
    history: "Labels", current: "Labels", spec: TextCovariates
) -> tuple[list[str], NDArray[np.float64], NDArray[np.float64]]:
    from sklearn.feature_extraction.text import TfidfVectorizer

    _require(spec.column, "texts", history, current)
    texts = [history.texts[spec.column], current.texts[spec.column]]
    for side, column in zip(("history", "current"), texts, strict=True):
        empty = [i for i, text in enumerate(column) if text is None]
        if empty:
            items = (history if side == "history" else current).items[empty[:5]].tolist()
            raise DataError(f"{spec.column!r} is missing for {side} items, the first: {items}")
    vectorizer = TfidfVectorizer(
        sublinear_tf=True,
        max_features=spec.max_features,
        min_df=spec.min_df,
        ngram_range=spec.ngram_range,
    )
    try:
        past = vectorizer.fit_transform(texts[0])
    except ValueError as error:
        raise Refusal(
            f"no word of the {len(texts[0]):,} history texts in {spec.column!r} can be a feature "
            f"with min_df={spec.min_df}: {error}; lower min_df, or leave the text out"
        ) from error
    words = [f"{spec.column}: {word}" for word in vectorizer.get_feature_names_out()]
    if not len(texts[1]):  # stage 1 of a cut without current gold; scikit-learn refuses
        return words, past.toarray(), np.empty((0, len(words)))
    return words, past.toarray(), vectorizer.transform(texts[1]).toarray()
