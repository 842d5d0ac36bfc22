"""Scores, their Monte-Carlo errors, and the tables on disk."""

import numpy as np
import pandas as pd
import pytest

from hero_bayes.simulation.scoring import rmse_difference, score, sd_difference, write_table


def test_score_adds_up():
    found = score(np.random.default_rng(1).normal(0.1, 0.3, 50))
    assert found["rmse"] ** 2 == pytest.approx(found["bias"] ** 2 + found["sd"] ** 2)
    assert found["abs_bias"] == abs(found["bias"])


def test_monte_carlo_errors_are_the_spread_over_replications():
    rng = np.random.default_rng(2)
    found = pd.DataFrame([score(rng.normal(0.2, 0.3, 200)) for _ in range(2000)])
    for name in ("bias", "sd", "rmse"):
        # A standard deviation from 2,000 replications has a relative error of 1/sqrt(4000).
        assert found[f"{name}_mc_error"].mean() == pytest.approx(found[name].std(), rel=0.07)


def test_paired_differences():
    rng = np.random.default_rng(3)
    found = []
    for _ in range(2000):
        one = rng.normal(0.1, 0.3, 200)
        two = one + rng.normal(0.0, 0.1, 200)
        found.append([*rmse_difference(one, two), *sd_difference(one, two)])
    rmse, rmse_error, sd, sd_error = np.array(found).T
    assert rmse_error.mean() == pytest.approx(rmse.std(), rel=0.07)
    assert sd_error.mean() == pytest.approx(sd.std(), rel=0.07)


def test_equal_errors_have_no_spread():
    assert score([0.0, 0.0])["rmse_mc_error"] == 0.0
    assert rmse_difference([0.0, 0.0], [0.0, 0.0]) == (0.0, 0.0)


def test_write_table(tmp_path):
    table = pd.DataFrame({"method": ["hero1"], "rmse": [1 / 3]})
    path = write_table(table, tmp_path / "t.csv")
    assert path.read_text() == "method,rmse\nhero1,0.333333\n"
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_table(table, path)
    write_table(table.assign(rmse=2.0), path, overwrite=True)
    assert "hero1,2\n" in path.read_text()
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.csv"]
    with pytest.raises(FileNotFoundError, match="no folder"):
        write_table(table, tmp_path / "none" / "t.csv")
