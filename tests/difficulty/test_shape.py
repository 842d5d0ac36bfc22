"""Densities against SciPy, whole probability, U shapes, and the figures drawn of them."""

import numpy as np
import pytest
from many import beta_fit, from_counts, normal_fit
from scipy import special, stats

import hero_bayes as hb
from hero_bayes.difficulty.shape import density, shape_table
from hero_bayes.difficulty.subsamples import k_curve
from hero_bayes.plots.curves import plot_density, plot_k_curve

MU, ICC = np.array([0.46, 0.5, 0.42]), np.array([0.74, 0.7, 0.8])  # Beta(.16, .19) and its like


def test_density_of_a_beta_is_the_mean_of_scipy():
    grid = [0.001, 0.2, 0.9, 0.9999]
    table = density(beta_fit(MU, ICC), grid, prob=0.5)
    size = (1 - ICC) / ICC
    draws = stats.beta.pdf(np.array(grid), (MU * size)[:, None], ((1 - MU) * size)[:, None])
    assert table["p"].tolist() == grid
    assert table["density"].to_numpy() == pytest.approx(draws.mean(axis=0), rel=1e-10)
    assert table["low"].to_numpy() == pytest.approx(np.quantile(draws, 0.25, axis=0), rel=1e-10)
    assert table["high"].to_numpy() == pytest.approx(np.quantile(draws, 0.75, axis=0), rel=1e-10)


def test_density_of_a_logit_normal():
    location, scale, grid = np.array([0.5, -1.0]), np.array([2.0, 0.7]), np.array([0.03, 0.6])
    table = density(normal_fit(location, scale), grid)
    z = stats.norm.pdf(special.logit(grid), location[:, None], scale[:, None])
    expected = (z / (grid * (1 - grid))).mean(axis=0)
    assert table["density"].to_numpy() == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    "fit",
    [
        beta_fit(MU, ICC),
        beta_fit([0.957, 0.95], [0.59, 0.6]),  # Beta(.67, .03)
        beta_fit([0.5], [0.28]),
        normal_fit([0.3, 1.0], [6.0, 4.0]),
        normal_fit([-1.0], [0.3]),
    ],
)
def test_density_and_ends_are_all_of_it(fit):
    table, ends = density(fit), shape_table(fit).iloc[0]
    # Trapezoid rule in p over 201 points, checked against half of them: third of the difference.
    whole = np.trapezoid(table["density"], table["p"])
    half = np.trapezoid(table["density"][::2], table["p"][::2])
    rest = 1 - ends["share_below_0.01"] - ends["share_above_0.99"]
    assert whole == pytest.approx(rest, abs=abs(half - whole) + 1e-12)
    assert abs(half - whole) < 5e-3
    assert np.isfinite(table[["density", "low", "high"]].to_numpy()).all()
    assert (table["low"] <= table["high"]).all()


def test_ends_are_the_distribution_function():
    row = shape_table(beta_fit(MU, ICC)).iloc[0]
    size = (1 - ICC) / ICC
    a, b = MU * size, (1 - MU) * size
    assert row["share_below_0.01"] == pytest.approx(stats.beta.cdf(0.01, a, b).mean(), rel=1e-10)
    assert row["share_above_0.99"] == pytest.approx(stats.beta.sf(0.99, a, b).mean(), rel=1e-10)
    assert row["share_below_0.01"] > 0.25  # a quarter of the prompts
    assert row["icc"] == pytest.approx(ICC.mean(), rel=1e-12)
    assert row["shape"] == "beta"
    row = shape_table(normal_fit([0.3], [6.0])).iloc[0]
    cut = special.logit(0.01)
    assert row["share_below_0.01"] == pytest.approx(stats.norm.cdf(cut, 0.3, 6.0), rel=1e-10)
    assert row["share_above_0.99"] == pytest.approx(stats.norm.sf(-cut, 0.3, 6.0), rel=1e-10)


def test_several_models_and_several_fits():
    two = beta_fit(np.full((4, 2), [0.3, 0.6]), np.full((4, 2), 0.5), model=("a", "b"))
    table = density({"maths": two, "code": beta_fit([0.5], [0.5])}, [0.5])
    assert table[["source", "model"]].to_numpy().tolist() == [
        ["maths", "a"],
        ["maths", "b"],
        ["code", "m"],
    ]
    assert "source" not in density(two, [0.5])
    assert shape_table(two)["mu"].to_numpy() == pytest.approx([0.3, 0.6])
    assert shape_table({"x": two})["source"].tolist() == ["x", "x"]


@pytest.mark.parametrize("grid", [[0.0, 0.5], [0.5, 1.0], [], [[0.5]], [float("nan")]])
def test_grid_stays_inside(grid):
    with pytest.raises(ValueError, match="between 0 and 1"):
        density(beta_fit([0.5], [0.5]), grid)


def test_density_figure_shows_the_table():
    two = beta_fit(np.full((4, 2), [0.3, 0.6]), np.full((4, 2), 0.5), model=("a", "b"))
    table = density(two)
    figure = plot_density(table)
    [axes] = figure.axes
    assert [line.get_label() for line in axes.lines] == ["a", "b"]
    part = table[table["model"] == "b"]
    assert axes.lines[1].get_ydata() == pytest.approx(part["density"].to_numpy())
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    assert len({line.get_color() for line in axes.lines}) == 2
    inner = table.loc[table["p"].between(0.05, 0.95), "high"].max()
    assert axes.get_ylim()[1] <= 3 * inner
    labels = [line.get_label() for line in plot_density(density({"x": two})).axes[0].lines]
    assert labels == ["a", "b"]
    both = density({"x": beta_fit([0.4], [0.5]), "y": beta_fit([0.5], [0.5])})
    assert [line.get_label() for line in plot_density(both).axes[0].lines] == ["x", "y"]


def test_k_curve_figure_shows_the_table(tmp_path):
    table = k_curve(from_counts([0, 1, 4, 5, 2], 5), (1, 2, 5, 20))
    figure = plot_k_curve(table)
    [axes] = figure.axes
    x, y = axes.lines[0].get_data()
    assert (x[0], x[-1]) == pytest.approx((1, 20))
    exact = k_curve(from_counts([0, 1, 4, 5, 2], 5), [3])["standard_error"][0]
    # Between the k of the table too: the squared error is a straight line in 1 / k.
    assert np.interp(-1 / 3, -1 / x, y**2) == pytest.approx(exact**2, rel=1e-9)
    assert len(axes.containers[0].lines[0].get_xdata()) == 3  # k = 20 cannot be subsampled
    assert [text.get_text() for text in axes.get_legend().get_texts()] == [
        "predicted",
        "floor",
        "random subsamples",
    ]
    figure.savefig(tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 5000


def test_figures_want_their_tables():
    with pytest.raises(hb.DataError, match="lacks columns k, standard_error"):
        plot_k_curve(density(beta_fit([0.5], [0.5]), [0.5]))
    with pytest.raises(hb.DataError, match="lacks rows"):
        plot_density(density(beta_fit([0.5], [0.5]), [0.5]).iloc[:0])


def test_limits_of_the_correlation_are_finite():
    table = density(beta_fit([0.3, 0.3], [0.0, 1.0]), [0.1, 0.3])
    assert np.isfinite(table[["density", "low", "high"]].to_numpy()).all()
    split = shape_table(beta_fit([0.3], [1.0])).iloc[0]  # every prompt is at 0 or at 1
    assert split["share_below_0.01"] == pytest.approx(0.7, abs=1e-6)
    assert split["share_above_0.99"] == pytest.approx(0.3, abs=1e-6)
