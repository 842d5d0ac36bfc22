"""Scores of items: held out by item, and alike in both rounds when labels or labelers change."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from toy import make_labels, simulate

from hero_bayes.data.labels import Labels
from hero_bayes.data.panel import align
from hero_bayes.errors import Refusal
from hero_bayes.estimators.item_scores import assign_folds, item_scores, score_sets, vote_logit
from hero_bayes.estimators.label_laws import compare_laws, match, mix_change, thin
from hero_bayes.estimators.score_method import score_remarks
from hero_bayes.estimators.shared_effect import fit_shared_effect, log_ratio
from hero_bayes.estimators.tilt import tilt, tilt_draws

SIZES = {"n_history": 150, "n_current": 60, "n_labelers": 5, "labels_per_item": 4}


@pytest.fixture(scope="module")
def rounds():
    return simulate(11, **SIZES).rounds


def test_scores_by_hand(rounds):
    history, current = rounds
    scores = item_scores(history, current, transport="none")
    for labels, found in ((history, scores.history), (current, scores.current)):
        k = np.array(
            [
                labels.label[a:b].sum()
                for a, b in zip(labels.item_ptr, labels.item_ptr[1:], strict=False)
            ]
        )
        size = labels.labels_per_item
        np.testing.assert_allclose(found[0], np.log((k + 0.5) / (size - k + 0.5)), rtol=1e-14)
        np.testing.assert_allclose(found[1], (found[0] + found[2]) / 2, rtol=1e-14)
    full = fit_shared_effect(history)
    np.testing.assert_array_equal(scores.current[2], np.clip(log_ratio(full, current), -6, 6))
    # Each history item is scored by a fit without its fold; those fits converge to 1e-4.
    for k in range(5):
        hidden = scores.fold == k
        fit = fit_shared_effect(history, held_out=hidden)
        expected = np.clip(log_ratio(fit, history), -6, 6)[hidden]
        np.testing.assert_allclose(scores.history[2, hidden], expected, atol=0.01)
        assert (
            np.abs(
                scores.history[2, hidden] - np.clip(log_ratio(full, history), -6, 6)[hidden]
            ).max()
            > 0.02
        )


def test_an_items_own_labels_do_not_touch_its_rule(rounds):
    history, _ = rounds
    hidden = np.arange(history.n_items) % 5 == 3
    other = flipped(history, hidden)
    ratios = [
        log_ratio(fit_shared_effect(h, held_out=hidden, start=fit_shared_effect(h)), history)
        for h in (history, other)
    ]
    # Starts differ, so that both climbs end within 1e-4 in slope of one mode: some 22 parameters of
    # curvature >= 1/2.25, and a ratio of 4 labels moves by at most 2 x 4 x spread (< 1.5) a unit.
    limit = np.sqrt(22) * 1e-4 * 2.25 * 2 * 12
    assert np.abs(ratios[0] - ratios[1]).max() < limit
    seen = log_ratio(fit_shared_effect(other), history)
    assert np.abs(seen - ratios[0]).max() > 10 * limit


def flipped(labels, items):
    rows = np.repeat(items, labels.labels_per_item)
    return dataclasses.replace(labels, label=np.where(rows, 1 - labels.label, labels.label))


def test_folds_spread_gold_evenly():
    gold = np.repeat([1.0, 0.0, np.nan], [7, 11, 53])
    fold = assign_folds(gold, 5, np.random.default_rng(0))
    for members in (gold == 1, gold == 0, np.isnan(gold), np.ones(gold.size, dtype=bool)):
        count = np.bincount(fold[members], minlength=5)
        assert count.max() - count.min() <= 1
    again = assign_folds(gold, 5, np.random.default_rng(1))
    assert (fold != again).any()


def test_current_gold_is_held_out_too():
    history, current = simulate(12, **SIZES, current_gold=0.3).rounds
    scores = item_scores(history, current)
    full = np.clip(log_ratio(scores.fit, current), -6, 6)
    known = current.has_gold
    np.testing.assert_array_equal(scores.current[-1, ~known], full[~known])
    assert np.abs(scores.current[-1, known] - full[known]).max() > 0.02


# --- thinning ---


def test_thinning_matches_counts_and_labelers():
    rng = np.random.default_rng(3)
    people = np.array([rng.permutation(8)[:6] for _ in range(200)])
    history = make_labels(np.repeat(np.arange(200), 6), people.ravel(), rng.integers(0, 2, 1200))
    # Labelers 0 and 1 have gone; 7 does half of the work.
    few = [[7, 2 + i % 5, 2 + (i + 1) % 5][: 1 + i % 3] for i in range(90)]
    current = make_labels(
        [i for i, row in enumerate(few) for _ in row],
        [j for row in few for j in row],
        [1 for row in few for _ in row],
    )
    panel = align(history, current)
    thinned = thin(panel.history, panel.current, rng)
    size = thinned.labels_per_item
    np.testing.assert_allclose(np.bincount(size)[1:] / 200, [1 / 3] * 3, atol=0.02)
    share = thinned.labels_per_labeler / thinned.n_labels
    assert (share[:2] == 0).all()
    assert share[7] > 0.28  # 1 / 8 in the history, 1 / 2 now, no more than once an item
    for i in range(200):
        mine, all_mine = (
            set(zip(t.labeler_idx[t.item_ptr[i] : t.item_ptr[i + 1]].tolist(),
                    t.label[t.item_ptr[i] : t.item_ptr[i + 1]].tolist(), strict=True))
            for t in (thinned, panel.history)
        )  # fmt: skip
        assert mine <= all_mine
        assert len(mine) == size[i]


def crowd(n, size, rng, rate=0.5, people=range(12), gold=0.0):
    """Items judged by ``size`` of some people; person j is right with probability .6 + .03 j."""
    truth = (rng.random(n) < rate).astype(int)
    who = np.array([rng.permutation(people)[:size] for _ in range(n)])
    right = rng.random(who.shape) < 0.6 + 0.03 * who
    label = np.where(right, truth[:, None], 1 - truth[:, None])
    known = np.where(rng.random(n) < gold, truth, np.nan)
    return make_labels(np.repeat(np.arange(n), size), who.ravel(), label.ravel(), {"gold": known})


def test_scores_follow_a_change_of_labels_per_item():
    rng = np.random.default_rng(5)
    three, six = (crowd(300, size, rng, gold=0.3) for size in (3, 6))
    same, kinds = score_sets(three, crowd(150, 3, rng))
    assert [kind.matched for kind in kinds] == [False]
    assert kinds[0].sets == (same,)
    assert (same.names, same.notes) == (("votes", "mean", "model"), ())
    for history, current, note in (
        (six, crowd(150, 3, rng), r"median 6 in history, 3 now.*\(50% of history's, 100% of the"),
        (three, crowd(150, 6, rng), r"median 3 in history, 6 now.*\(100% of history's, 50% of the"),
    ):
        every, (kind,) = score_sets(history, current)
        assert (len(kind.sets), kind.matched) == (5, True)
        assert re.search(note, every.notes[0])
        # Three labels give four vote logits, six give seven.
        assert sorted(np.unique(x[0]).size for x in (every.history, every.current)) == [4, 7]
        for part in kind.sets:
            assert [np.unique(x[0]).size for x in (part.history, part.current)] == [4, 4]
        plain = item_scores(history, current, transport="none")
        np.testing.assert_array_equal(every.current, plain.current)
        np.testing.assert_array_equal(every.history, plain.history)
        assert item_scores(history, current, transport="model").names == ("model",)
    with pytest.raises(ValueError, match="transport"):
        item_scores(three, three, transport="maybe")


def test_scores_follow_a_change_of_labelers():
    rng = np.random.default_rng(6)
    history = crowd(400, 4, rng, gold=0.4)
    weak = crowd(150, 4, rng, people=range(6))
    scores = item_scores(history, weak)
    assert "other labelers" in scores.notes[0]
    laws = compare_laws(scores.panel.history, scores.panel.current, scores.fit)
    # Mean logit of being right falls from about 1.2 to 0.75 by construction.
    people = 0.6 + 0.03 * np.arange(12)
    fall = logit(people).mean() - logit(people[:6]).mean()
    np.testing.assert_allclose(laws.quality_shift, [fall, -fall], atol=0.25)
    assert item_scores(history, weak, transport="none").notes == ()
    # Six of twelve labelers as good as all: the mean logit stays, but not who labels.
    even = crowd(150, 4, rng, people=range(0, 12, 2))
    laws = compare_laws(scores.panel.history, even.with_labelers(scores.panel.labelers), scores.fit)
    assert laws.mix_shift > 0.4
    assert dataclasses.replace(laws, quality_shift=np.zeros(2)).labelers_changed
    assert "% of them beyond chance" in item_scores(history, even).notes[0]


def test_the_mix_of_labelers_by_hand():
    one, two = (labels_by(x) for x in ([6, 2], [2, 6]))
    # Shares 6/8, 2/8 and 2/8, 6/8: distance 1/2. Pooled shares 1/2; their difference has standard
    # deviation sqrt(1/2 1/2 (1/8 + 1/8)) = 1/4 in each of two labelers, and mean size sqrt(2/pi).
    np.testing.assert_allclose(mix_change(one, two), 0.5 - 0.25 * np.sqrt(2 / np.pi), rtol=1e-12)
    assert mix_change(one, labels_by([])) == 0.0
    rng = np.random.default_rng(8)
    found = [mix_change(crowd(100, 3, rng), crowd(80, 3, rng)) for _ in range(60)]
    # Distinct labelers of an item spread a little more evenly than the formula's single draws.
    assert abs(np.mean(found)) < 0.02
    assert max(found) < 0.1


def labels_by(counts):
    who = np.repeat(np.arange(len(counts)), np.asarray(counts, dtype=int))
    labels = make_labels(np.arange(who.size), who, np.ones(who.size, dtype=int)) if len(who) else (
        make_labels([0], [0], [0]).take_items([])
    )  # fmt: skip
    return labels.with_labelers(["0", "1"])


def test_matched_rounds_have_one_law():
    """Rates by labeler and numbers of labels agree, and kept labels are labels of the item."""
    rng = np.random.default_rng(9)
    history = crowd(3000, 5, rng)
    odd = crowd(3000, 3, rng, people=[0, 1, 2, 3, 9])
    both = align(history, odd)
    past, now = match(both.history, both.current, rng, labelers=True)
    rates = [x.labels_per_labeler / 3000 for x in (past, now)]
    whole = [x.labels_per_labeler / 3000 for x in (both.history, both.current)]
    assert (rates[0][np.minimum(*whole) == 0] == 0).all()
    # Binomial noise of two rates of at most .42, and what the match of numbers takes besides.
    np.testing.assert_allclose(rates[0], rates[1], atol=5 * np.sqrt(2 * 0.25 / 3000))
    assert rates[0].sum() > 0.9 * np.minimum(*whole).sum()
    shares = [np.bincount(x.labels_per_item, minlength=6) / 3000 for x in (past, now)]
    np.testing.assert_allclose(shares[0][1:], shares[1][1:], atol=0.01)
    for thinned, full in ((past, both.history), (now, both.current)):
        kept, had = (
            set(zip(np.repeat(np.arange(x.n_items), x.labels_per_item).tolist(),
                    x.labeler_idx.tolist(), x.label.tolist(), strict=True))
            for x in (thinned, full)
        )  # fmt: skip
        assert kept <= had
        assert thinned.n_items == full.n_items


def test_draws_by_parts_take_turns():
    rng = np.random.default_rng(10)
    history, current = crowd(200, 5, rng, gold=0.3), crowd(80, 3, rng)
    draws = tilt(history, current, n_draws=103)
    sizes = [part.slope.size for part in draws.parts]
    assert sorted(sizes) == [20, 20, 21, 21, 21]
    for d in (0, 1, 4, 7, 102):
        part, place = draws.parts[d % 5], d // 5
        assert draws.slope[d] == part.slope[place]
        assert draws.item_rate[d] == part.item_rate[place]
        np.testing.assert_array_equal(draws.log_ratio[d], part.log_ratio[place])
    np.testing.assert_allclose(draws.weight.sum(), 1.0)
    # The evidence for the account of shared errors is that of all labels, not of a part.
    seed = int(np.random.SeedSequence(0).generate_state(2)[0])
    plain = item_scores(history, current, transport="none", random_seed=seed)
    whole = tilt_draws(plain, n_draws=50, rng=rng).log_evidence
    np.testing.assert_allclose(draws.log_evidence, whole, atol=0.1)
    thinned = np.mean([part.log_evidence for part in draws.parts], axis=0)
    assert (whole > thinned + 0.5).any()


def test_rounds_with_hardly_a_labeler_in_common():
    rng = np.random.default_rng(11)
    history = crowd(60, 1, rng, people=range(11), gold=0.3)
    last = crowd(50, 1, rng, people=[0, 11, 12, 13])
    with pytest.raises(Refusal, match=r"too few labels are left.*gold items of a class"):
        item_scores(history, last)


def test_a_history_group_whose_gold_loses_its_labels_does_not_calibrate():
    rng = np.random.default_rng(12)
    tables = [crowd(200, 4, rng, people=p, gold=0.3).to_frames() for p in (range(8), range(8, 12))]
    labels, items = [], []
    for k, frames in enumerate(tables):
        for frame in (frames.labels, frames.items):
            frame["item"] = frame["item"].astype(str) + f"r{k}"
        labels.append(frames.labels)
        items.append(frames.items.assign(round=f"r{k}"))
    history = Labels.from_frames(pd.concat(labels), pd.concat(items))
    draws = tilt(history, crowd(100, 4, rng, people=range(8)), n_draws=60)
    assert draws.gold_groups == ("r0",)
    assert any("r1" in remark for remark in score_remarks(draws))


def test_vote_logit_of_an_item_without_labels_is_zero(rounds):
    empty = rounds[1].with_labelers(["nobody"])
    assert vote_logit(empty).tolist() == [0.0] * 60
