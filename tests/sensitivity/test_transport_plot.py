"""The picture of a sweep."""

import numpy as np
import pytest
from toy import simulate

import hero_bayes as hb
from hero_bayes.plots.sensitivity import plot_transport
from hero_bayes.sensitivity.transport import transport_sensitivity


@pytest.fixture(scope="module")
def problem():
    return simulate(31, n_history=150, n_current=70, n_labelers=4, labels_per_item=3).rounds


@pytest.fixture(scope="module")
def fitted(problem):
    return hb.fit(*problem, model="auto", random_seed=1, draws=100, chains=2)


def test_probability_over_the_grid(fitted, problem, tmp_path):
    rule = "P(prevalence <= 0.4) >= 0.8"
    sweep = transport_sensitivity(fitted, *problem, rule, [-0.8, -0.4, 0.4, 0.8])
    figure = hb.plots.plot_transport(sweep)
    heat, lines = figure.axes[0], figure.axes[1]
    mesh = heat.collections[0].get_array()
    expected = sweep["probability"].transpose("shift_specificity", "shift_sensitivity")
    np.testing.assert_allclose(np.asarray(mesh).reshape(5, 5), expected)
    rings = [line for line in heat.lines if line.get_marker() == "o"]
    points = sweep["tipping_point"].to_numpy()
    assert len(rings) == np.isfinite(points).sum() > 0
    drawn = {tuple(np.round([line.get_xdata()[0], line.get_ydata()[0]], 9)) for line in rings}
    for direction, point in zip(sweep["direction"].to_numpy(), points, strict=True):
        if np.isfinite(point):
            at = (point, 0.0) if direction.startswith("sensitivity") else (0.0, point)
            assert tuple(np.round(at, 9)) in drawn
    own = sweep["probability"].sel(shift_specificity=0.0)
    np.testing.assert_allclose(lines.lines[0].get_ydata(), own)
    figure.savefig(tmp_path / "sweep.png")
    assert str(sweep.attrs["rule"]) in figure.get_suptitle()


def test_the_rate_without_a_rule(fitted, problem, tmp_path):
    sweep = transport_sensitivity(fitted, *problem, grid=[-0.5, 0.5])
    figure = plot_transport(sweep)
    assert figure.axes[1].get_ylabel() == "prevalence of current"
    figure.savefig(tmp_path / "sweep.png")


def test_misuse(fitted, problem):
    sweep = transport_sensitivity(fitted, *problem, grid=[[0.0], [-0.5, 0.5]])
    with pytest.raises(hb.DataError, match="single shift"):
        plot_transport(sweep)
    with pytest.raises(hb.DataError, match="no sweep"):
        plot_transport(fitted["posterior"].to_dataset())
