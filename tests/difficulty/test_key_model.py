"""The model of wrong keys against integration by hand, its gradient, and its priors."""

import math
from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import quad
from scipy.special import betaln, expit, gammaln
from scipy.stats import beta

from hero_bayes.data.generations import Generations
from hero_bayes.difficulty.answers import clusters
from hero_bayes.difficulty.key_counts import key_counts, tally
from hero_bayes.difficulty.key_model import BOUNDS, KeyModel
from hero_bayes.difficulty.key_rates import FlagRate
from hero_bayes.errors import DataError

#: Answers by prompt and model; "key" is accepted, "" stands for a generation without an answer.
ANSWERS = {
    "easy": {"A": ["key", "key", "key"], "B": ["key", "key"]},
    "disputed": {"A": ["key", "x", "x"], "B": ["x", "y"]},
    "against": {"A": ["x", "x", "x"], "B": ["x", "x"]},
    "diffuse": {"A": ["x", "y", "z"], "B": ["w", ""]},
    "one": {"A": ["x", "key", "x"]},
}
LIMITS = {"epsabs": 1e-11, "epsrel": 1e-10, "limit": 200}


def model_of(answers, models=("A", "B")):
    rows = [
        (prompt, model, place, answer or None, answer == "key")
        for prompt, by_model in answers.items()
        for model, given in by_model.items()
        if model in models
        for place, answer in enumerate(given)
    ]
    names = ["prompt", "model", "generation", "answer", "correct"]
    data = Generations.from_frame(pd.DataFrame(rows, columns=names))
    return data, KeyModel(key_counts(tally(data, clusters(data))), FlagRate((1.0, 19.0)))


def parameters(model, seed):
    """Values near the start, so that every term matters."""
    start = model.layout.flat(0)
    flat = start + 0.4 * np.random.default_rng(seed).standard_normal(len(start))
    return np.clip(flat, model.layout.flat(1), model.layout.flat(2))


def expectation(function):
    """Mean of a function of a standard normal variable."""
    scale = 1 / np.sqrt(2 * np.pi)
    return quad(lambda z: scale * math.exp(-z * z / 2) * function(z), -8, 8, **LIMITS)[0]


def restaurant(labels, concentration):
    """Chance of a sequence of labels, one customer at a time."""
    chance, seen = 1.0, {}
    for place, label in enumerate(labels):
        chance *= seen.get(label, concentration) / (concentration + place)
        seen[label] = seen.get(label, 0) + 1
    return chance


class ByHand:
    """Chances of one prompt's answers under every hypothesis, by quadrature."""

    def __init__(self, at, by_model, names):
        self.at, self.names = at, [name for name in names if by_model.get(name)]
        self.place = [names.index(name) for name in self.names]
        self.several = len(names) > 1
        self.given = [by_model[name] for name in self.names]
        self.pooled = [answer for given in self.given for answer in given if answer]
        self.rest = cache(self.rest)

    def right(self, answer, prefix=""):
        """The right answer (or the trap) was given as often as it was."""

        def chance(u):
            result = 1.0
            for m, given in zip(self.place, self.given, strict=True):
                loading = self.at[f"{prefix}loading"][m] if self.several else 0.0
                mean = expit(self.at[f"{prefix}ability"][m] + loading * u)
                f = np.exp(-self.at[f"{prefix}icc"][m])
                n = given.count(answer)
                yes, no = mean * f, (1 - mean) * f
                result *= np.exp(betaln(yes + n, no + len(given) - n) - betaln(yes, no))
            return result

        return expectation(chance)

    def rest(self, answer):
        """The other answers repeat and are shared as they are."""
        wrong = [[a for a in given if a and a != answer] for given in self.given]

        def repeats(v):
            result = 1.0
            for m, labels in zip(self.place, wrong, strict=True):
                if not labels:
                    continue
                common = self.at["variety_common"][m] * v if self.several else 0.0
                centre = self.at["variety"][m] + common
                spread = np.exp(self.at["variety_spread"][m])
                result *= expectation(
                    lambda e, c=centre, s=spread, w=labels: restaurant(w, np.exp(c + s * e))
                )
            return result

        chance = expectation(repeats) if self.several else repeats(0.0)
        if self.several:
            seats = [label for labels in wrong for label in dict.fromkeys(labels)]
            centre, spread = self.at["sharing"][0], np.exp(self.at["sharing_spread"][0])
            chance *= expectation(lambda z: restaurant(seats, np.exp(centre + spread * z)))
        return chance

    def both(self):
        """Chances jointly with "the key is right", and with "it is not"."""
        fresh, popular, trapped, hidden = (float(expit(self.at[n][0])) for n in list(BOUNDS)[-4:])
        others = [a for a in dict.fromkeys(self.pooled) if a != "key"]
        n_key, n = self.pooled.count("key"), len(self.pooled)
        size = sum(len(given) for given in self.given)
        keep = 1 - fresh - popular * (n > n_key)
        right = keep * (1 - trapped) * self.right("key") * self.rest("key")
        wrong = 0.0
        from_trap = popular * n_key / size if n_key else fresh
        for answer in [*others, "an answer never given"]:
            left = n - self.pooled.count(answer)
            share = n_key / left if left else 0.0
            rest = self.rest(answer)
            fooled = trapped * rest * self.right(answer, "trap_")
            right_hidden = hidden * share if n_key else 1 - hidden * (left > 0)
            right += (1 - fresh - popular) * right_hidden * fooled
            draw = popular * share if n_key else fresh
            wrong += draw * (1 - trapped) * rest * self.right(answer) + from_trap * fooled
        if n_key:
            wrong += from_trap * trapped * self.rest("key") * self.right("key", "trap_")
        return np.log(right), np.log(wrong)


@pytest.mark.parametrize("models", [("A", "B"), ("A",)])
def test_log_likelihoods_against_quadrature(models):
    data, model = model_of(ANSWERS, models)
    flat = parameters(model, 5)
    at = model.layout.split(flat)
    found = np.array(model.log_likelihoods(flat))
    for place, prompt in enumerate(data.prompts):
        by_hand = ByHand(at, ANSWERS[prompt], list(models))
        # the model leaves out (n - 1)! of every answer by model, and (models - 1)! of every answer
        counts = {a: [g.count(a) for g in by_hand.given] for a in set(by_hand.pooled)}
        left_out = sum(gammaln(n) for row in counts.values() for n in row if n)
        if len(models) > 1:
            left_out += sum(gammaln(np.count_nonzero(row)) for row in counts.values())
        assert found[:, place] + left_out == pytest.approx(by_hand.both(), abs=1e-8)


@pytest.mark.parametrize("models", [("A", "B"), ("A",)])
def test_gradient(models):
    _, model = model_of(ANSWERS, models)
    flat = parameters(model, 7)
    gradient = model(flat)[1]
    step = 1e-5
    for place, one in enumerate(np.eye(len(flat))):
        slope = (model(flat + step * one)[0] - model(flat - step * one)[0]) / (2 * step)
        # central differences err by step^2 times third derivatives, and 1e-16 / step by rounding
        assert gradient[place] == pytest.approx(slope, rel=1e-6, abs=1e-7)


def test_accepted_answers_count_as_one():
    frame = pd.DataFrame(
        {
            "prompt": "a",
            "generation": range(6),
            "correct": [1, 1, 1, 0, 0, 0],
            "answer": ["1+2", "2+1", "3", "4", "4", "5"],
        }
    )
    data = Generations.from_frame(frame)
    several = key_counts(tally(data, clusters(data)))
    joined = Generations.from_frame(frame.assign(answer=["3", "3", "3", "4", "4", "5"]))
    one = key_counts(tally(joined, clusters(joined)))
    flat = parameters(KeyModel(one, FlagRate((1.0, 19.0))), 2)
    for found, expected in zip(
        KeyModel(several, FlagRate((1.0, 19.0))).log_likelihoods(flat),
        KeyModel(one, FlagRate((1.0, 19.0))).log_likelihoods(flat),
        strict=True,
    ):
        assert found == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("total", [0.002, 0.05, 0.3])
def test_rate_against_quadrature(total):
    rate = FlagRate((1.0, 19.0), (2.0, 30.0))

    def joint(wrong):
        return beta.pdf(wrong, 1, 19) * beta.pdf(total - wrong, 2, 30)

    mass = quad(joint, 0, total, **LIMITS)[0]
    value, slope = rate.log_density(total)
    assert value == pytest.approx(np.log(mass), abs=1e-9)
    share = quad(lambda wrong: joint(wrong) * wrong, 0, total, **LIMITS)[0] / mass / total
    assert rate.wrong_share(total) == pytest.approx(share, rel=1e-9)
    step = 1e-6
    by_steps = (rate.log_density(total + step)[0] - rate.log_density(total - step)[0]) / (2 * step)
    assert slope == pytest.approx(by_steps, rel=1e-5)
    below = quad(joint, 0, total * rate.draw_share(total, np.array([0.3]))[0], **LIMITS)[0]
    assert below / mass == pytest.approx(0.3, abs=2e-3)  # 80 nodes, linear between them


@pytest.mark.parametrize("prior", [(0.5, 19.0), (1.0, 0.0), (1.0, np.nan)])
def test_rate_priors_are_checked(prior):
    with pytest.raises(DataError, match="Beta parameters"):
        FlagRate(prior)
