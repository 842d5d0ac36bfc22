"""What the tables of a study say of PITs that are right, too narrow or too wide."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import binom, kstest, norm

import hero_bayes as hb
from hero_bayes.calibration import coverage_table, plot_ranks, running, uniformity

N = 200


def study(width=1.0, shift=0.0):
    """PITs of a posterior whose standard deviation is ``width`` times the right one."""
    noise = np.random.default_rng(1).standard_normal((N, 6)) + shift
    pit = norm.cdf(noise / width)
    return xr.DataTree.from_dict(
        {
            "pit": xr.Dataset(
                {
                    "prevalence": (("simulation", "group"), pit[:, :1]),
                    "sensitivity": (("simulation", "labeler"), pit[:, 1:]),
                },
                coords={"group": ["current"], "labeler": list("abcde")},
            )
        }
    )


def test_right_ranks_pass():
    table = uniformity(study())
    assert len(table) == 6 + 2 + 1
    assert table["p_adjusted"].min() > 1e-3
    row = table.query("variable == 'prevalence' and test == 'ks'").iloc[0]
    expected = kstest(study()["pit"]["prevalence"].to_numpy()[:, 0], "uniform").pvalue
    assert row["p_value"] == pytest.approx(expected)
    assert row["element"] == "current"
    assert row["p_adjusted"] == pytest.approx(min(1.0, 9 * expected))


@pytest.mark.parametrize(("width", "sign"), [(0.8, 1), (1.25, -1)])
def test_wrong_width_fails_with_its_sign(width, sign):
    last = uniformity(study(width)).iloc[-1]
    assert last["variable"] == "all variables"
    assert last["p_adjusted"] < 1e-3
    assert np.sign(last["statistic"]) == sign


def test_wrong_place_fails():
    table = uniformity(study(shift=0.7)).query("test == 'ks'")
    assert table["p_adjusted"].max() < 1e-3


def intervals(pit):
    """A coverage study whose closed intervals agree with the PITs."""
    levels = np.array([0.5, 0.9])
    truth = np.zeros((N, 1))
    inside = np.abs(pit[:, None] - 0.5) <= levels / 2
    dims = ("simulation", "level", "group")
    coords = {"group": ["current"], "level": levels}
    low = xr.Dataset({"rate": (dims, np.where(inside, -1.0, 0.5)[..., None])}, coords=coords)
    high = xr.Dataset({"rate": (dims, np.where(inside, 1.0, 1.0)[..., None])}, coords=coords)
    by_simulation = ("simulation", "group")
    group = {"group": ["current"]}
    return xr.DataTree.from_dict(
        {
            "pit": xr.Dataset({"rate": (by_simulation, pit[:, None])}, coords=group),
            "truth": xr.Dataset({"rate": (by_simulation, truth)}, coords=group),
            "lower": low,
            "upper": high,
        }
    )


def test_coverage_table_counts_and_bounds():
    table = coverage_table(intervals((np.arange(N) + 0.5) / N))
    np.testing.assert_allclose(table["coverage"], [0.5, 0.9])
    np.testing.assert_allclose(table["closed_coverage"], table["coverage"])
    np.testing.assert_allclose(table["lower"], binom.ppf(0.0005, N, [0.5, 0.9]) / N)
    np.testing.assert_allclose(table["upper"], binom.ppf(0.9995, N, [0.5, 0.9]) / N)
    assert table["inside"].all()
    assert table["element"].tolist() == ["current", "current"]
    assert not coverage_table(intervals(np.full(N, 0.5)))["inside"].any()


def prior_as_posterior(program, history, current, *, random_seed, draws, chains, **_):
    """Draws from the prior: ranks of the truth among them are uniform too."""
    rng = np.random.default_rng(random_seed)
    shape = (chains, draws)
    dims = ("chain", "draw")
    posterior = {
        name: ((*dims, dim), rng.random((*shape, size)))
        for name, dim, size in (
            ("sensitivity", "labeler", 5),
            ("specificity", "labeler", 5),
            ("history_prevalence", "history_group", 1),
            ("prevalence", "group", 1),
        )
    }
    posterior["item_rate"] = posterior["prevalence"]
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset(posterior)})
    tree.attrs = {"mode": "nuts"}
    return tree


@pytest.fixture
def no_sampler(monkeypatch):
    monkeypatch.setattr(running, "refit", prior_as_posterior)


def test_sbc_ranks_prior_against_prior(no_sampler, capsys):
    result = hb.calibration.sbc("hero", 300, random_seed=1, progressbar=True)
    assert "SBC of hero: 100 %" in capsys.readouterr().err
    ranks = result["rank"].to_dataset()
    assert ranks["sensitivity"].dims == ("simulation", "labeler")
    assert ranks["sensitivity"].dtype == np.int64
    assert int(ranks["sensitivity"].max()) <= 100
    assert ((result["pit"]["prevalence"] * 101).astype(int) == ranks["prevalence"]).all()
    # The share of positive items is known from gold in part only through its prior here.
    table = uniformity(result).query("variable not in ('item_rate', 'all variables')")
    assert table["p_adjusted"].min() > 1e-3
    assert result.attrs["redrawn"] > 0
    assert set(result["diagnostics"].data_vars) == {"divergences", "flipped_chains", "seconds"}


def test_coverage_of_the_prior(no_sampler):
    result = hb.calibration.coverage(
        "hero", "joint", 300, quantities=("prevalence",), random_seed=2, progressbar=False
    )
    assert coverage_table(result)["inside"].all()
    assert result["lower"]["prevalence"].dims == ("simulation", "level", "group")


def test_rank_plot_runs(no_sampler):
    result = hb.calibration.sbc("hero", 30, random_seed=1, progressbar=False)
    plot_ranks(result, var_names=["prevalence"], backend="none")


def test_study_survives_a_file(no_sampler, tmp_path):
    result = hb.calibration.sbc("hero", 10, random_seed=1, progressbar=False)
    result.to_netcdf(tmp_path / "study.nc", engine="h5netcdf")
    again = xr.load_datatree(tmp_path / "study.nc", engine="h5netcdf")
    assert uniformity(again).equals(uniformity(result))
