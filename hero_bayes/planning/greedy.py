"""Which labels shrink a rate's variance most, one after the other, from draws alone."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Chosen", "Question", "choose", "first_gains"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Question:
    """A rate and the items whose truth could be asked for.

    Attributes
    ----------
    target : float array (draw,)
        The share of positives among the items at hand, given the parameters of each draw.
    spread : float
        Variance of that share that is left when the parameters are known.
    history, current : float array (draw, item)
        P(y = 1) of the candidates of either round.
    n_items : int
        Items that the share is taken over.
    """

    target: FloatArray
    spread: float
    history: FloatArray
    current: FloatArray
    n_items: int

    @property
    def variance(self) -> float:
        """Variance of the share, before any answer."""
        return float(self.target.var() + self.spread)


@dataclass(frozen=True)
class Chosen:
    """What was chosen, in order.

    Attributes
    ----------
    position : int array (choice,)
        Column of the candidate, those of history first.
    gain : float array (choice,)
        By how much its answer lowers the variance of the rate, given those before it.
    at_random : bool array (choice,)
        Taken from the given order, not for its gain.
    """

    position: IntArray
    gain: FloatArray
    at_random: NDArray[np.bool_]


def first_gains(question: Question) -> FloatArray:
    """Expected fall of the variance by each candidate's answer alone, history first.

    Notes
    -----
    With p the chance and t the target of each draw, re-weighting the draws by p or 1 - p gives
    Var(t) - E Var(t | y) = Cov(t, p)^2 / (E p (1 - E p)). A current item's answer does not move the
    calibration; it takes the item's own share out of the target's variance, with n items
    2 Cov(t, p) / n - Var(p) / n^2 + E p (1 - p) / n^2.
    """
    target = question.target - question.target.mean()
    parts = [
        _history_gains(
            target,
            question.history - question.history.mean(axis=0),
            _own(question.history),
        ),
        _current_gains(
            target,
            question.current - question.current.mean(axis=0),
            _own(question.current),
            question.n_items,
        ),
    ]
    return np.concatenate(parts)


def choose(
    question: Question, budget: int, order: Iterable[int] = (), share: float = 0.0
) -> Chosen:
    """The candidates that lower the variance most, each given the answers to those before.

    Parameters
    ----------
    question : Question
    budget : int
        How many.
    order : iterable of int
        Candidates in a random order.
    share : float
        Share of the choices that are the next of ``order``, spread evenly over the list.

    Returns
    -------
    Chosen
        No candidate twice; the first of equals. At most as many as there are.

    Notes
    -----
    The update is linear: an answer of a history item has signal p and noise E p (1 - p), and the
    draws are moved by the square-root filter X <- (I - a u u') X, u = p / |p| centred and
    1 - a = sqrt(noise / (noise + Var(p))), which leaves the covariance that the answer leaves.
    After the first choice of history items this is an approximation: chances are not normal.
    """
    signal = np.column_stack([question.target, question.history, question.current])
    signal = signal - signal.mean(axis=0)
    own = np.concatenate([[0.0], _own(question.history), _own(question.current)])
    past = slice(1, 1 + question.history.shape[1])
    now = slice(past.stop, signal.shape[1])
    n_draws, n_items = question.target.size, question.n_items
    open_ = np.ones(signal.shape[1] - 1, dtype=bool)
    positions, gains, drawn = [], [], []
    waiting = iter(order)
    for turn in range(min(budget, open_.size)):
        gain = np.concatenate(
            [
                _history_gains(signal[:, 0], signal[:, past], own[past]),
                _current_gains(signal[:, 0], signal[:, now], own[now], n_items),
            ]
        )
        best = int(np.argmax(np.where(open_, gain, -np.inf)))
        given = None
        if int((turn + 1) * share) > int(turn * share):
            given = next((column for column in waiting if open_[column]), None)
            best = best if given is None else given
        open_[best] = False
        drawn.append(given is not None)
        positions.append(best)
        gains.append(gain[best])
        column = best + 1
        if column >= now.start:
            signal[:, 0] -= signal[:, column] / n_items
            continue
        size = float(signal[:, column] @ signal[:, column])
        if size > 0.0:
            direction = signal[:, column] / np.sqrt(size)
            kept = np.sqrt(own[column] / (own[column] + size / n_draws))
            signal -= (1.0 - kept) * np.outer(direction, direction @ signal)
    return Chosen(
        np.array(positions, dtype=np.int64),
        np.array(gains, dtype=float),
        np.array(drawn, dtype=bool),
    )


def _own(chance: FloatArray) -> FloatArray:
    """Mean variance of each answer when the parameters are known."""
    return np.asarray((chance * (1.0 - chance)).mean(axis=0))


def _history_gains(target: FloatArray, signal: FloatArray, own: FloatArray) -> FloatArray:
    together = target @ signal / target.size
    total = (signal**2).mean(axis=0) + own
    return np.divide(together**2, total, out=np.zeros_like(total), where=total > 0.0)


def _current_gains(
    target: FloatArray, signal: FloatArray, own: FloatArray, n_items: int
) -> FloatArray:
    together = target @ signal / target.size
    return np.asarray(2.0 * together / n_items + (own - (signal**2).mean(axis=0)) / n_items**2)
