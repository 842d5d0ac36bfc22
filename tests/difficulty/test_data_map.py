"""Data map: shrinkage, regions, figure."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import beta

import hero_bayes as hb
from hero_bayes.difficulty.mapping import data_map
from hero_bayes.difficulty.score_moments import moments
from hero_bayes.errors import DataError
from hero_bayes.plots.data_map import plot_data_map


@pytest.fixture(scope="module")
def crux():
    return hb.datasets.load("cruxeval")


@pytest.fixture(scope="module")
def mapped(crux):
    return data_map(crux)


def test_shrinks_by_the_moments_of_the_model(crux, mapped):
    for name in crux.models:
        found = moments(crux, name)
        weight = (found.mu - found.mu**2) / found.sigma_squared - 1.0
        part = mapped[mapped["model"] == name]
        right = found.mu * weight + 10 * part["p_hat"]
        wrong = (1 - found.mu) * weight + 10 * (1 - part["p_hat"])
        assert part["p_mean"].to_numpy() == pytest.approx((right / (right + wrong)).to_numpy())
        low = beta.ppf(0.025, right, wrong)
        assert part["p_low"].to_numpy() == pytest.approx(low, abs=1e-12)


def test_regions_follow_the_stated_rule(mapped):
    review = (mapped["p_hat"] <= 0.1) & (mapped["S"] >= -0.8)
    assert 0 < review.sum() < len(mapped)
    assert (mapped["region"] == "review").equals(review)
    rest = mapped[~review]
    assert ((rest["region"] == "easy") == (rest["p_low"] >= 0.5)).all()
    assert ((rest["region"] == "hard") == (rest["p_high"] <= 0.5)).all()
    assert set(mapped["region"]) == {"review", "easy", "hard", "mixed"}


def test_one_generation_or_all_right_has_a_uniform_prior():
    once = data_map(pd.DataFrame({"prompt": list("abc"), "n_correct": [1, 0, 1], "k": 1}))
    assert once["p_mean"].to_numpy() == pytest.approx([2 / 3, 1 / 3, 2 / 3])
    full = data_map(pd.DataFrame({"prompt": list("abc"), "n_correct": 4, "k": 4}))
    assert full["p_mean"].to_numpy() == pytest.approx([5 / 6] * 3)


def test_equal_prompts_are_shrunk_almost_wholly():
    table = data_map(pd.DataFrame({"prompt": list("abcd"), "n_correct": [5, 5, 5, 6], "k": 10}))
    assert np.ptp(table["p_mean"]) < 0.02
    assert (table["p_high"] - table["p_low"] > 0.05).all()


def test_without_answers_consistency_has_a_reason():
    table = data_map(pd.DataFrame({"prompt": list("ab"), "n_correct": [0, 9], "k": 10}))
    assert table["S"].isna().all()
    assert table["reason"].str.contains("answer").all()
    assert "review" not in set(table["region"])


def test_reads_a_fit(crux):
    rng = np.random.default_rng(3)
    order = rng.permutation(len(crux.k))
    draws = rng.beta(crux.n_correct + 1.0, crux.k - crux.n_correct + 1.0, size=(2, 50, len(order)))
    values = xr.Dataset(
        {"p_correct": (("chain", "draw", "cell"), draws[..., order])},
        coords={
            "cell_model": ("cell", crux.models[crux.model_idx][order].astype(str)),
            "cell_prompt": ("cell", crux.prompts[crux.prompt_idx][order].astype(str)),
        },
    )
    fit = xr.DataTree.from_dict({"prompts": values})
    table = data_map(crux, fit)
    assert table["p_mean"].to_numpy() == pytest.approx(draws.mean(axis=(0, 1)), rel=1e-12)
    flat = draws.reshape(100, -1)
    assert table["p_high"].to_numpy() == pytest.approx(np.quantile(flat, 0.975, axis=0))
    fewer = xr.DataTree.from_dict({"prompts": values.isel(cell=slice(0, 100))})
    with pytest.raises(DataError, match="does not know 2300 of the cells"):
        data_map(crux, fewer)
    with pytest.raises(DataError, match="p_correct"):
        data_map(crux, xr.DataTree.from_dict({"prompts": xr.Dataset()}))


def test_figure_has_a_panel_a_model(mapped, tmp_path):
    figure = plot_data_map(mapped)
    panels = [axes for axes in figure.axes if axes.axison]
    assert [axes.get_title() for axes in panels] == sorted(set(mapped["model"]))
    for axes in panels:
        part = mapped[mapped["model"] == axes.get_title()]
        points = [c for c in axes.collections if c.get_label() in set(mapped["region"])]
        places = np.concatenate([c.get_offsets() for c in points])
        assert len(places) == len(part.groupby(["p_hat", "S", "region"]))
        sizes = np.concatenate([c.get_sizes() for c in points])
        assert ((sizes - 6.0) / 3.0).sum() == pytest.approx(len(part))
    figure.savefig(tmp_path / "map.png")
    assert (tmp_path / "map.png").stat().st_size > 10_000


def test_figure_of_one_model_into_own_axes(mapped):
    from matplotlib.figure import Figure

    own = Figure()
    axes = own.subplots()
    assert plot_data_map(mapped, "gpt-4-0613+cot", ax=axes) is own
    assert axes.get_title() == "gpt-4-0613+cot"
    with pytest.raises(DataError, match="3 models"):
        plot_data_map(mapped, ax=axes)
    with pytest.raises(DataError, match="no model 'x'"):
        plot_data_map(mapped, "x")
    with pytest.raises(DataError, match="S_low"):
        plot_data_map(mapped.drop(columns="S_low"))
    with pytest.raises(DataError, match="answers"):
        plot_data_map(mapped.assign(S=np.nan))
