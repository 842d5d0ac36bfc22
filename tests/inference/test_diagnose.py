"""The gate: every rule fails what it should and names number, limit and remedy."""

import numpy as np
import pytest
import xarray as xr
from toy import from_rows, simulate

import hero_bayes as hb
from hero_bayes.inference.gate_counts import information_counts

CHAINS, DRAWS = 4, 500
LABELERS = ["a", "b", "c"]


def tree(mode="nuts", labels=(40, 40, 40), attrs=None, **changes):
    """A fit as hb.fit returns it, from independent draws; ``changes`` replace variables."""
    rng = np.random.default_rng(1)
    by_labeler = ("chain", "draw", "labeler")
    posterior = {
        "prevalence": (("chain", "draw", "group"), rng.beta(30, 70, (CHAINS, DRAWS, 1))),
        "item_rate": (("chain", "draw", "group"), rng.binomial(60, 0.3, (CHAINS, DRAWS, 1)) / 60),
        "history_prevalence": (
            ("chain", "draw", "history_group"),
            rng.beta(40, 60, (CHAINS, DRAWS, 1)),
        ),
        "sensitivity": (by_labeler, rng.beta(80, 20, (CHAINS, DRAWS, 3))),
        "specificity": (by_labeler, rng.beta(90, 10, (CHAINS, DRAWS, 3))),
    }
    statistics = {
        "diverging": (("chain", "draw"), np.zeros((CHAINS, DRAWS), dtype=bool)),
        "energy": (("chain", "draw"), rng.standard_normal((CHAINS, DRAWS))),
    }
    for name, value in changes.items():
        target = statistics if name in statistics else posterior
        dims = target[name][0] if name in target else ("chain", "draw")
        target[name] = (dims, value)
    counts = {
        "current_labels": ("labeler", np.array(labels)),
        "informing_labels": ("labeler", np.array([50, 50, 50])),
        "positive_gold_labels": ("labeler", np.array([9, 9, 9])),
        "negative_gold_labels": ("labeler", np.array([9, 9, 9])),
        "pattern_degrees_of_freedom": ("history_group", np.array([7])),
    }
    coords = {"labeler": LABELERS, "group": ["current"], "history_group": ["history"]}
    fit = xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(posterior, coords=coords),
            "sample_stats": xr.Dataset(statistics),
            "constant_data": xr.Dataset(counts, coords=coords),
        }
    )
    fit.attrs = {"model": "hero", "mode": mode, "posterior": "cut", **(attrs or {})}
    return fit


def base(name):
    return tree()["posterior"][name].to_numpy().copy()


def only_reason(diagnosis):
    assert not diagnosis.passed
    assert len(diagnosis.reasons) == 1, diagnosis
    return diagnosis.reasons[0]


def test_good_draws_pass():
    diagnosis = hb.diagnose(tree())
    assert diagnosis.passed, diagnosis
    assert diagnosis.reasons == ()
    assert list(diagnosis.table.columns) == ["check", "value", "limit", "passed"]
    assert diagnosis.table["passed"].all()
    assert "passed" in str(diagnosis)


def test_chains_that_disagree_fail_r_hat():
    values = base("sensitivity")
    values[0, :, 1] -= 0.1
    reasons = " | ".join(hb.diagnose(tree(sensitivity=values)).reasons)
    assert "R-hat of sensitivity (labeler b) is 1." in reasons
    assert "not below 1.01" in reasons
    assert "draws=2000" in reasons


def test_slow_chains_fail_ess():
    rng = np.random.default_rng(2)
    noise = rng.standard_normal((CHAINS, DRAWS))
    for k in range(1, DRAWS):
        noise[:, k] = 0.95 * noise[:, k - 1] + 0.3 * noise[:, k]
    values = 0.3 + 0.02 * noise[..., None]
    reasons = hb.diagnose(tree(prevalence=values)).reasons
    assert any(r.startswith("bulk ESS of prevalence") and "below 400" in r for r in reasons)


def test_divergence_fails():
    diverging = np.zeros((CHAINS, DRAWS), dtype=bool)
    diverging[1, 3] = True
    reason = only_reason(hb.diagnose(tree(diverging=diverging)))
    assert reason.startswith("1 of 2000 draws diverged")


def test_low_bfmi_fails():
    walk = np.cumsum(np.random.default_rng(3).standard_normal((CHAINS, DRAWS)), axis=1)
    assert only_reason(hb.diagnose(tree(energy=walk))).startswith("BFMI is 0.")


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_draws_that_are_no_numbers_fail(bad):
    values = base("prevalence")
    values[0, 0] = bad
    assert "1 draws that are no numbers" in only_reason(hb.diagnose(tree(prevalence=values)))


def test_energies_that_never_move_fail():
    reason = only_reason(hb.diagnose(tree(energy=np.zeros((CHAINS, DRAWS)))))
    assert "BFMI is nan" in reason


def test_constant_prevalence_fails_and_constant_item_rate_is_noted():
    reason = only_reason(hb.diagnose(tree(prevalence=np.full((CHAINS, DRAWS, 1), 0.3))))
    assert "same in every draw" in reason
    diagnosis = hb.diagnose(tree(item_rate=np.full((CHAINS, DRAWS, 1), 0.3)))
    assert diagnosis.passed
    assert "item_rate (group current) is the same in every draw" in diagnosis.notes[0]


def test_chains_stuck_at_values_of_their_own_fail():
    values = np.broadcast_to(np.linspace(0.1, 0.4, CHAINS)[:, None, None], (CHAINS, DRAWS, 1))
    assert not hb.diagnose(tree(prevalence=values)).passed


def test_other_variables_are_judged_and_those_over_items_are_not():
    rng = np.random.default_rng(4)
    drifting = np.arange(DRAWS) / DRAWS + rng.standard_normal((CHAINS, DRAWS)) / 10
    assert any("drift" in r for r in hb.diagnose(tree(drift=drifting)).reasons)
    fit = tree()
    fit["posterior"] = (
        fit["posterior"]
        .to_dataset()
        .assign(long=(("chain", "draw", "item"), np.zeros((CHAINS, DRAWS, 2))))
    )
    assert not any("long" in check for check in hb.diagnose(fit).table["check"])


def test_one_chain_cannot_pass():
    fit = tree()
    one = xr.DataTree.from_dict(
        {
            name: node.to_dataset().isel(chain=[0], missing_dims="ignore")
            for name, node in fit.children.items()
        }
    )
    one.attrs = fit.attrs
    assert any("needs at least two chains" in r for r in hb.diagnose(one).reasons)


def test_flipped_chain_is_named():
    flip = {}
    for name in ("sensitivity", "specificity"):
        values = base(name)
        values[2] = 1 - values[2]
        flip[name] = values
    reasons = hb.diagnose(tree(**flip)).reasons
    assert any("1 of 4 chains (chain 2)" in r and "exchanged" in r for r in reasons)


def weak_c(sensitivity, specificity):
    rng = np.random.default_rng(5)
    out = {}
    for name, mean in (("sensitivity", sensitivity), ("specificity", specificity)):
        values = base(name)
        values[..., 2] = rng.beta(2000 * mean, 2000 * (1 - mean), (CHAINS, DRAWS))
        out[name] = values
    return out


def test_flipped_labeler_is_named_and_fails_by_its_share():
    reason = only_reason(hb.diagnose(tree(**weak_c(0.2, 0.3))))
    assert "1 labeler (c)" in reason
    assert "33.3 %" in reason
    assert "coded the other way round" in reason
    rare = hb.diagnose(tree(labels=(60, 60, 1), **weak_c(0.2, 0.3)))
    assert rare.passed
    assert "(c)" in rare.notes[0]


def test_labelers_near_chance_are_named_and_fail_when_they_are_the_round():
    diagnosis = hb.diagnose(tree(**weak_c(0.6, 0.41)))
    assert diagnosis.passed
    assert any("(c)" in note and "next to nothing" in note for note in diagnosis.notes)
    assert "50 %" in only_reason(hb.diagnose(tree(labels=(9, 9, 30), **weak_c(0.6, 0.41))))


def test_current_rates_are_judged_where_labelers_drift():
    rng = np.random.default_rng(6)
    changes = {
        f"current_{name}": rng.beta(20, 80, (CHAINS, DRAWS, 3))
        for name in ("sensitivity", "specificity")
    }
    fit = tree()
    dims = ("chain", "draw", "labeler")
    moved = fit["posterior"].to_dataset().assign({k: (dims, v) for k, v in changes.items()})
    fit["posterior"] = moved
    assert any("3 labelers (a, b, c)" in r for r in hb.diagnose(fit).reasons)


def test_laplace_rules():
    good = {
        "hessian_positive_definite": 1,
        "pareto_k_hat": 0.3,
        "importance_draws": 900.0,
    }
    assert hb.diagnose(tree("laplace", attrs=good)).passed
    for name, value, word in (
        ("hessian_positive_definite", 0, "positive definite"),
        ("pareto_k_hat", 0.75, "0.75, not below 0.7"),
        ("pareto_k_hat", np.nan, "k-hat is nan"),
        ("importance_draws", 150.0, "150, fewer than 200"),
    ):
        assert word in only_reason(hb.diagnose(tree("laplace", attrs={**good, name: value})))


def test_exact_and_unknown_modes():
    assert hb.diagnose(tree("exact", attrs={"importance_draws": 500.0})).passed
    assert "199" in only_reason(hb.diagnose(tree("exact", attrs={"importance_draws": 199.0})))
    assert "no rule for mode 'guess'" in only_reason(hb.diagnose(tree("guess")))


def test_the_mode_is_never_enough():
    rounds = simulate(1, n_history=80, n_current=40).rounds
    fit = hb.fit(*rounds, model="hero", mode="map", random_seed=1)
    assert "never enough" in only_reason(hb.diagnose(fit))


def test_more_parameters_than_patterns_fail():
    fit = tree()
    counts = fit["constant_data"].to_dataset()
    counts["pattern_degrees_of_freedom"][:] = 3
    counts["positive_gold_labels"][:] = 0
    fit["constant_data"] = counts
    reason = only_reason(hb.diagnose(fit))
    assert reason.startswith("7 parameters stand against 6 degrees of freedom")


def test_fit_without_counts_does_not_pass_silently():
    fit = tree()
    del fit["constant_data"]
    assert any("fit again" in r for r in hb.diagnose(fit).reasons)


def test_no_fit_is_refused():
    with pytest.raises(hb.DataError, match="no fit"):
        hb.diagnose(xr.DataTree())


def test_counts_of_complete_and_partial_tables():
    rng = np.random.default_rng(7)
    everyone = from_rows([{k: int(rng.random() < 0.5) for k in LABELERS} for _ in range(60)])
    gold = [1.0, 0.0] + [np.nan] * 28
    rows = [{"a": 1, "b": 0}, {"a": 0, "b": 1}] + [
        {"a": int(rng.random() < 0.5)} for _ in range(28)
    ]
    partial = from_rows(rows, gold=gold)
    counts = information_counts(everyone, partial, LABELERS, cut=True)
    assert counts["pattern_degrees_of_freedom"].item() == 7
    assert "current_pattern_degrees_of_freedom" not in counts
    assert counts["positive_gold_labels"].to_numpy().tolist() == [1, 1, 0]
    assert counts["informing_labels"].to_numpy().tolist() == [62, 62, 60]
    joint = information_counts(everyone, partial, LABELERS, cut=False)
    assert joint["current_pattern_degrees_of_freedom"].item() == 3
    assert joint["informing_labels"].to_numpy().tolist() == [90, 62, 60]
    unanimous = from_rows([dict.fromkeys(LABELERS, 1) for _ in range(5)])
    same = information_counts(unanimous, partial, LABELERS, cut=True)
    assert same["pattern_degrees_of_freedom"].item() == 1


def test_summary_tells_verdict_and_reasons():
    good = str(hb.summary(tree()))
    assert "gate (nuts): passed" in good
    assert "item_rate" in good
    assert "rate among new items" in good
    assert "95 % credible interval" in good
    diverging = np.ones((CHAINS, DRAWS), dtype=bool)
    bad = hb.summary(tree(diverging=diverging), prob=0.8)
    assert str(bad).count("[gate failed]") == 2
    assert "draws diverged" in str(bad)
    assert "FAILED" in bad._repr_html_()
    np.testing.assert_allclose(
        bad.table.set_index("estimand").loc["prevalence", ["lower", "upper"]].astype(float),
        np.quantile(tree()["posterior"]["prevalence"], [0.1, 0.9]),
    )
    with pytest.raises(ValueError, match="prob"):
        hb.summary(tree(), prob=1.0)


def test_rules_survive_saving(tmp_path):
    rounds = simulate(2, n_history=80, n_current=40).rounds
    fit = hb.fit(*rounds, model="hero", mode="laplace", draws=250, random_seed=1, progressbar=False)
    again = hb.load(hb.save(fit, tmp_path / "fit.nc"))
    assert str(hb.diagnose(again)) == str(hb.diagnose(fit))
