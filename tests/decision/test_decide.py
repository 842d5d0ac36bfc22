"""Decisions on fits whose posterior is known in closed form."""

import json
import math

import numpy as np
import pytest
import xarray as xr
from decision.trees import beta_fit, beta_quantiles, tree
from scipy import stats
from toy import simulate

import hero_bayes as hb
from hero_bayes.decision.decide import decide
from hero_bayes.decision.rule import Rule

N_DRAWS = 4000
#: Quantiles at (k + 1/2) / n put at most half a draw on the wrong side of any threshold.
SPACING = 0.5 / N_DRAWS + 1e-12


@pytest.mark.parametrize("positive", [0, 3, 12, 40])
@pytest.mark.parametrize("direction", ["<=", "<", ">=", ">"])
def test_probability_is_that_of_the_beta_law(positive, direction):
    law = stats.beta(1 + positive, 1 + 300 - positive)
    rule = Rule("prevalence", direction, 0.05)
    decision = decide(beta_fit(positive, 300 - positive), rule)
    expected = law.cdf(0.05) if direction[0] == "<" else law.sf(0.05)
    assert decision.probability == pytest.approx(expected, abs=SPACING)
    ship, hold = expected >= 0.95, expected <= 0.05
    assert decision.outcome == ("ship" if ship else "hold" if hold else "collect more")
    part = decision.parts[0]
    assert part.lower < part.median < part.upper
    assert (part.lower, part.upper) == pytest.approx(law.ppf([0.025, 0.975]), rel=0.02)


def test_perfect_labels_through_a_fit():
    """All current items carry gold, so that the prevalence is Beta(1 + k, 1 + n - k) exactly."""
    history, current = simulate(5, n_current=120, current_gold=1.0, rate=0.05).rounds
    fitted = hb.fit(history, current, model="score", random_seed=1, draws=2000)
    k = int(current.gold.sum())
    expected = stats.beta(1 + k, 1 + 120 - k).cdf(0.08)
    decision = decide(fitted, "P(prevalence <= 0.08) >= 0.95")
    assert 0.05 < expected < 0.95
    assert decision.probability == pytest.approx(expected, abs=5 * decision.monte_carlo_error)
    assert decision.monte_carlo_error < 0.02
    # The share among the items at hand is known, so that its probability is 0 or 1.
    rate = current.gold.mean()
    sure = decide(fitted, Rule("item_rate", "<=", float(rate)))
    assert (sure.probability, sure.outcome) == (1.0, "ship")
    assert decide(fitted, Rule("item_rate", "<", float(rate))).outcome == "hold"


def test_several_rules_hold_together():
    prevalence, item_rate = beta_quantiles(8, 292), beta_quantiles(12, 288)
    rates = {"prevalence": prevalence[..., None], "item_rate": item_rate[::-1, :, None]}
    rules = [Rule("prevalence", "<=", 0.05), Rule("item_rate", "<=", 0.06, probability=0.8)]
    decision = decide(tree(rates), Rule.all(rules))
    own = [prevalence <= 0.05, item_rate[::-1] <= 0.06]
    assert decision.probability == np.mean(own[0] & own[1])
    assert decision.probabilities == {
        str(rule): held.mean() for rule, held in zip(rules, own, strict=True)
    }
    assert decision.probability < min(decision.probabilities.values())
    assert any("By itself P(item_rate <= 6.00 %)" in reason for reason in decision.reasons)


def test_one_surely_false_rule_holds():
    """P(first) = 0.55 is at most 1 - 0.6 nowhere; the second is false in 70 % of the draws."""
    first = np.linspace(0, 1, 1000).reshape(4, -1)
    second = 1 - first
    fit = tree({"prevalence": first[..., None], "item_rate": second[..., None]})
    alone = Rule("prevalence", "<=", 0.8, probability=0.9)
    against = Rule("item_rate", "<=", 0.35, probability=0.6)
    joint = decide(fit, Rule.all([alone, against]))
    assert joint.probability == pytest.approx(0.15, abs=0.002)
    assert joint.probability > 1 - joint.rule.probability
    assert joint.outcome == "hold"
    assert "item_rate <= 35.00 % is surely false" in joint.reasons[0]


def test_rope_moves_the_end_of_the_event():
    fit, law = beta_fit(16, 284), stats.beta(17, 285)
    plain = decide(fit, "P(prevalence <= 0.05) >= 0.95")
    roped = decide(fit, "P(prevalence <= 0.05) >= 0.95; rope=0.03")
    assert plain.outcome == "collect more"
    assert roped.outcome == "ship"
    assert roped.probability == pytest.approx(law.cdf(0.08), abs=SPACING)
    part = roped.parts[0]
    assert part.at_threshold == plain.probability
    assert part.inside_rope == pytest.approx(law.cdf(0.08) - law.cdf(0.02), abs=2 * SPACING)
    assert any("practically at the threshold" in reason for reason in roped.reasons)
    assert plain.parts[0].inside_rope == 0.0


def test_arms_are_compared_draw_by_draw():
    rng = np.random.default_rng(3)
    base = rng.beta(20, 180, (4, 500))
    rates = np.stack([base, base - 0.01 * rng.random((4, 500)), rng.beta(20, 180, (4, 500))], -1)
    fit = tree({"prevalence": rates}, groups=("r2/A", "r2/B", "r2/C"), arms=("A", "B", "C"))
    sure = decide(fit, "P(B - A <= 0) >= 0.9")
    assert (sure.probability, sure.outcome) == (1.0, "ship")
    assert sure.parts[0].upper == np.quantile(rates[..., 1] - rates[..., 0], 0.975)
    unsure = decide(fit, "P(r2/C / A <= 1.1) >= 0.9")
    assert unsure.probability == np.mean(rates[..., 2] <= 1.1 * rates[..., 0])
    odds = rates / (1 - rates)
    oddly = decide(fit, "P(odds(C) / odds(A) <= 1.1) >= 0.9")
    assert oddly.probability == np.mean(odds[..., 2] / odds[..., 0] <= 1.1)


def test_ratio_to_a_rate_of_zero_is_said():
    arm, reference = np.full((4, 100), 0.1), np.full((4, 100), 0.1)
    reference[0, :10], arm[0, :4] = 0.0, 0.0
    fit = tree({"item_rate": np.stack([reference, arm], -1)}, groups=("A", "B"))
    decision = decide(fit, "P(item_rate[B] / item_rate[A] <= 1) >= 0.9")
    assert decision.probability == pytest.approx(394 / 400)  # 0/0 is 1, something/0 is infinite
    told = decision.to_dict()
    assert told["parts"][0]["sd"] is None
    assert "infinite" in told["missing"]
    json.dumps(told, allow_nan=False)


def test_a_failed_gate_is_inconclusive_and_can_be_overridden():
    fit = beta_fit(3, 297, importance_draws=50.0)
    assert not hb.diagnose(fit).passed
    refused = decide(fit, "P(prevalence <= 0.05) >= 0.95")
    assert (refused.outcome, refused.forced, refused.gate_passed) == ("inconclusive", False, False)
    assert "Otherwise the outcome would be: ship" in refused.reasons[0]
    assert any("importance draws are worth 50" in reason for reason in refused.reasons)
    forced = decide(fit, "P(prevalence <= 0.05) >= 0.95", force=True)
    assert (forced.outcome, forced.forced) == ("ship", True)
    assert "overridden (force=True)" in forced.reasons[0]
    assert forced.to_dict()["forced"] is True
    assert forced.to_dict()["gate"]["passed"] is False
    # Forcing what needs no force is no override.
    assert not decide(beta_fit(3, 297), "P(prevalence <= 0.05) >= 0.95", force=True).forced


@pytest.mark.parametrize("force", [False, True])
def test_a_mode_is_never_enough(force):
    fitted = hb.fit(*simulate(7).rounds, model="hero", mode="map", random_seed=1)
    decision = decide(fitted, "P(prevalence <= 0.99) >= 0.5", force=force)
    assert (decision.outcome, decision.forced, decision.best_action) == ("inconclusive", False, "")
    assert "mode alone" in decision.reasons[0]
    told = decision.to_dict()
    assert told["probability"] is None
    assert "mode alone" in told["missing"]
    json.dumps(told, allow_nan=False)


def test_groups_must_be_named():
    draws = np.stack([beta_quantiles(3, 297), beta_quantiles(40, 260)], -1)
    fit = tree({"prevalence": draws}, groups=("r2/A", "r2/B"), arms=("A", "B"))
    with pytest.raises(hb.DataError, match=r"2 groups \('r2/A', 'r2/B'\): say which"):
        decide(fit, "P(prevalence <= 0.05) >= 0.95")
    with pytest.raises(hb.DataError, match=r"no group or arm 'C'; its groups are 'r2/A', 'r2/B'"):
        decide(fit, "P(prevalence[C] <= 0.05) >= 0.95")
    for name, outcome in (("r2/A", "ship"), ("A", "ship"), ("B", "hold")):
        assert decide(fit, Rule(group=name)).outcome == outcome
    twice = tree({"prevalence": draws}, groups=("r2/A", "r3/A"), arms=("A", "A"))
    with pytest.raises(hb.DataError, match="several groups are of arm 'A'; its groups are 'r2/A'"):
        decide(twice, Rule(group="A"))


def test_a_metric_that_is_not_there():
    with pytest.raises(hb.DataError, match=r"no 'prevalence_adjusted': run hb\.adjust"):
        decide(beta_fit(3, 297), "P(prevalence_adjusted <= 0.05) >= 0.95")
    with pytest.raises(hb.DataError, match="no 'mu': this fit has prevalence"):
        decide(beta_fit(3, 297), "P(mu >= 0.05) >= 0.95")
    with pytest.raises(hb.DataError, match=r"pass what hb\.fit returned"):
        decide(xr.DataTree(), Rule())
    with pytest.raises(TypeError, match="expected a Rule or its text, got float"):
        decide(beta_fit(3, 297), 0.05)


def test_adjusted_fits_and_fits_of_generations():
    history, current = simulate(11, n_current=80).rounds
    fitted = hb.fit(history, current, model="score", random_seed=1, draws=250)
    adjusted = hb.adjust(fitted, history, current)
    decision = decide(adjusted, "P(prevalence_adjusted <= 0.3 and item_rate <= 0.3) >= 0.95")
    posterior = adjusted["posterior"]
    held = (posterior["prevalence_adjusted"] <= 0.3).to_numpy()
    held &= (posterior["item_rate"] <= 0.3).to_numpy()
    assert decision.probability == held.mean()
    generations = hb.datasets.load("game24_gpt4")
    scored = hb.difficulty.fit(generations, mode="laplace", random_seed=1, draws=250)
    with pytest.raises(hb.DataError, match="the fit has 2 models"):
        decide(scored, "P(mu >= 0.05) >= 0.95")
    name = str(scored["posterior"]["model"].to_numpy()[-1])
    draws = scored["posterior"]["mu"].sel(model=name).to_numpy()
    assert decide(scored, Rule("mu", ">=", 0.05, group=name)).probability == np.mean(draws >= 0.05)


def test_arguments_of_the_wrong_kind_are_named():
    fit = beta_fit(5, 95)
    rule = "P(prevalence <= 0.05) >= 0.95"
    for cost in ("x", True, math.nan, -1.0):
        with pytest.raises(ValueError, match="cost_of_more must be a number of at least 0"):
            decide(fit, rule, cost_of_more=cost)
    with pytest.raises(TypeError, match="force must be True or False, got 'no'"):
        decide(fit, rule, force="no")
