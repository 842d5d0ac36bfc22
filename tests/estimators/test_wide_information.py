"""Many labelers, many covariates, damaged files."""

import gzip

import numpy as np
import pytest
from scores import item_scores, theta_of
from toy import from_rows, simulate

from hero_bayes.data.labels import Labels
from hero_bayes.errors import DataError, Refusal
from hero_bayes.estimators import information
from hero_bayes.estimators.anchored_em import anchor
from hero_bayes.estimators.estimate import estimate
from hero_bayes.estimators.information import UNIFORM_INFORMATION, labeler_covariance


@pytest.fixture(scope="module")
def problem():
    return simulate(171, n_history=160, n_current=60, current_gold=0.2)


def arguments(result):
    return result.data, result.sensitivity, result.specificity, result.history_prevalence


def test_wide_covariance_is_the_dense_inverse(problem, monkeypatch):
    result = anchor(*problem.rounds)
    rates = np.concatenate([result.sensitivity, result.specificity])
    assert np.minimum(rates, 1 - rates).min() > 0.01
    monkeypatch.setattr(information, "DENSE_LIMIT", 1)
    operator, remarks = labeler_covariance(*arguments(result))
    size = rates.size
    assert operator.shape == (size, size)
    assert remarks == ()
    score = item_scores(result, theta_of(result))
    expected = np.linalg.inv(score.T @ score + UNIFORM_INFORMATION * np.eye(score.shape[1]))[
        :size, :size
    ]
    found = np.column_stack([operator @ column for column in np.eye(size)])
    # Conjugate gradients stop at a relative residual of 1e-8.
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("method", ["hero1", "hero2"])
def test_wide_standard_error_is_near_the_dense_one(problem, method, monkeypatch):
    dense = estimate(*problem.rounds, method)
    monkeypatch.setattr(information, "DENSE_LIMIT", 1)
    wide = estimate(*problem.rounds, method)
    assert wide.value == dense.value
    # Outer products of scores estimate the same information: 20 % at 200 items.
    assert wide.standard_error == pytest.approx(dense.standard_error, rel=0.2)


def test_four_hundred_thin_labelers():
    setting = {"n_labelers": 400, "labels_per_item": 3, "gold_share": 0.5}
    found = estimate(*simulate(172, n_history=3000, n_current=200, **setting).rounds, "hero1")
    low, high = found.interval()
    assert 0 <= low < found.value < high <= 1
    assert 0.01 < found.standard_error < 0.3


@pytest.mark.parametrize("extra", [0, 1, 5])
def test_hero2_without_ridge_refuses_to_fit_exactly(extra):
    n = 12
    # p = n - 1 + extra covariates on n items.
    rounds = simulate(173, n_history=60, n_current=n, n_noise=n - 2 + extra).rounds
    with pytest.raises(Refusal, match='ridge="cv"'):
        estimate(*rounds, "hero2", ridge=0)
    assert 0 <= estimate(*rounds, "hero2").value <= 1


def test_hero2_without_ridge_answers_just_below():
    rounds = simulate(173, n_history=60, n_current=12, n_noise=9).rounds
    assert 0 <= estimate(*rounds, "hero2", ridge=0).value <= 1


def test_many_covariates_warn_of_nothing():
    """Warnings are errors here; 150 covariates on 80 items."""
    rounds = simulate(174, n_history=120, n_current=80, n_noise=149).rounds
    found = estimate(*rounds, "hero2")
    assert len(found.details["gamma"]) == 150
    assert np.isfinite([found.value, found.standard_error, *found.interval()]).all()
    plain = estimate(*rounds, "hero1")
    assert abs(found.value - plain.value) < 4 * plain.standard_error


def test_constant_labels_and_covariates_together():
    rows = [{"a": 1, "b": 0}, {"a": 0, "b": 0}, {"a": 1, "b": 1}, {"a": 0, "b": 1}]
    history = from_rows(rows * 5, gold=[1, 0, 1, 0] * 5)
    found = estimate(history, from_rows([{"a": 1, "b": 1}] * 8), "hero1")
    assert 0 <= found.value <= 1


GOOD = b"item,labeler,label\n1,a,1\n1,b,0\n2,a,0\n"


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("twice.csv", b"item,labeler,label,label\n1,a,1,0\n", "names a column twice: 'label'"),
        ("ragged.csv", GOOD + b"2,b\n3,a,1,7\n", "Every line must have as many fields"),
        ("long.csv", b"item,labeler,label\n1,a,1,9\n2,b,0,9\n", "as many fields"),
        ("cut.csv.gz", gzip.compress(GOOD * 200, mtime=0)[:-20], "may be damaged"),
        ("bits.csv.gz", b"\x1f\x8b\x08" + bytes(range(40)), "may be damaged"),
        ("plain.csv.gz", GOOD, "may be damaged"),
    ],
)
def test_damaged_tables(tmp_path, name, content, match):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=match):
        Labels.from_csv(path)


def test_short_line_is_not_read_as_a_missing_label(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes(GOOD + b"2\n")
    with pytest.raises(DataError):
        Labels.from_csv(path)


def test_whole_gzip_is_read(tmp_path):
    path = tmp_path / "labels.csv.gz"
    path.write_bytes(gzip.compress(GOOD))
    assert Labels.from_csv(path).n_labels == 3
