"""Expected losses, the value of information, Monte-Carlo errors, and what is said of them."""

import dataclasses
import json

import numpy as np
import pytest
from decision.trees import beta_fit, beta_quantiles, tree
from scipy import integrate, stats

from hero_bayes.decision.decide import decide, losses_of
from hero_bayes.decision.draws_error import monte_carlo_error
from hero_bayes.decision.losses import expected_losses
from hero_bayes.decision.rule import Rule


def gauss_legendre(low, high, law, nodes=200):
    """Nodes and weights (times density) on one side of a threshold."""
    at, weight = np.polynomial.legendre.leggauss(nodes)
    half = (high - low) / 2
    x = low + half * (at + 1)
    return x, half * weight * law.pdf(x)


@pytest.mark.parametrize("threshold", [0.02, 0.04, 0.05, 0.09])
@pytest.mark.parametrize("losses", [(1.0, 1.0), (5.0, 1.0), (1.0, 3.0)])
def test_losses_and_evpi_against_integration(threshold, losses):
    law = stats.beta(13, 289)
    rule = Rule("prevalence", "<=", threshold, loss_wrong_ship=losses[0], loss_wrong_hold=losses[1])
    sides = [gauss_legendre(0, threshold, law), gauss_legendre(threshold, 1, law)]
    nodes, weight = (np.concatenate(part) for part in zip(*sides, strict=True))
    found = expected_losses(*losses_of(rule, [rule.holds(nodes)]), weight)

    def integral(loss, *ends):
        return integrate.quad(lambda m: loss * law.pdf(m), *ends, epsabs=1e-10, limit=200)[0]

    ship, hold = integral(losses[0], threshold, 1), integral(losses[1], 0, threshold)
    assert (found.ship, found.hold) == pytest.approx((ship, hold), abs=1e-6)
    # Perfect knowledge costs nothing: the right action is taken on either side.
    assert found.evpi == pytest.approx(min(ship, hold), abs=1e-6)
    assert found.best == ("ship" if ship < hold else "hold")


def test_evpi_of_losses_that_are_never_zero():
    """A linear loss: shipping costs m, holding 0.05; knowing m saves E max(0.05 - m, 0) at most."""
    law = stats.beta(13, 289)
    sides = [gauss_legendre(0, 0.05, law), gauss_legendre(0.05, 1, law)]
    nodes, weight = (np.concatenate(part) for part in zip(*sides, strict=True))
    found = expected_losses(nodes, np.full(nodes.size, 0.05), weight)
    known = integrate.quad(lambda m: min(m, 0.05) * law.pdf(m), 0, 1, points=[0.05])[0]
    assert found.evpi == pytest.approx(min(law.mean(), 0.05) - known, abs=1e-6)


def test_a_decision_reports_its_losses():
    """P = 0.9: the rule is undecided, five-fold losses of a wrong shipping prefer to hold."""
    values = np.where(np.arange(1000) % 10 == 0, 0.06, 0.04).reshape(4, -1, 1)
    fit = tree({"prevalence": values})
    plain = decide(fit, Rule())
    assert (plain.outcome, plain.best_action) == ("collect more", "ship")
    assert plain.expected_loss.ship == pytest.approx(0.1)
    assert plain.expected_loss.hold == pytest.approx(0.9)
    assert plain.expected_loss.chosen == plain.expected_loss.hold
    assert plain.evpi == pytest.approx(0.1)
    assert not any("loss" in reason for reason in plain.reasons)
    dear = decide(fit, Rule(loss_wrong_ship=20.0))
    assert (dear.best_action, dear.evpi) == ("hold", pytest.approx(0.9))
    assert any("prefer to hold" in reason for reason in dear.reasons)
    against = decide(fit, Rule(probability=0.8, loss_wrong_ship=20.0))
    assert against.outcome == "ship"
    assert against.expected_loss.chosen == pytest.approx(2.0)
    assert any("disagree with the rule, which says ship" in reason for reason in against.reasons)


def test_several_rules_lose_the_largest_of_what_fails():
    first, second = Rule(loss_wrong_ship=2.0), Rule("item_rate", loss_wrong_ship=7.0)
    held = [np.array([[True, False, True, False]]), np.array([[True, True, False, False]])]
    ship, hold = losses_of(Rule.all([first, second]), held)
    assert ship.tolist() == [0.0, 2.0, 7.0, 7.0]
    assert hold.tolist() == [1.0, 0.0, 0.0, 0.0]


def test_data_that_cannot_pay_are_not_collected():
    fit = beta_fit(10, 290)
    asks = decide(fit, Rule(), cost_of_more=0.001)
    assert asks.outcome == "collect more"
    assert any("more than the 0.001" in reason for reason in asks.reasons)
    holds = decide(fit, Rule(), cost_of_more=asks.evpi)
    assert holds.outcome == "hold"
    assert "More data cannot pay" in holds.reasons[-1]
    # Where the rule decides, the cost of data changes nothing.
    assert decide(beta_fit(2, 298), Rule(), cost_of_more=1e9).outcome == "ship"
    for cost in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="cost_of_more must be a number of at least 0"):
            decide(fit, Rule(), cost_of_more=cost)


@pytest.mark.parametrize(("positive", "verdict"), [(10, "ship"), (20, "hold")])
def test_the_evidence_asked_for_is_enough(positive, verdict):
    """With twice as many times the data and the same share the rule decides, with half not."""
    rule = Rule("prevalence", "<=", 0.05)
    decision = decide(beta_fit(positive, 300 - positive), rule)
    (said,) = [reason for reason in decision.reasons if "times the evidence" in reason]
    factor = float(said.split("about ")[1].split(" times")[0])
    assert said.endswith(f"would settle on {verdict}.")
    asked = {}
    for name, times in (("half", factor / 2), ("twice", factor * 2)):
        law = stats.beta((1 + positive) * times, (301 - positive) * times)
        asked[name] = max(law.cdf(0.05), law.sf(0.05))
    assert asked["half"] < 0.95 < asked["twice"]


def test_an_estimate_on_the_threshold_asks_for_no_impossible_amount():
    law = stats.beta(16, 286)
    rule = Rule("prevalence", "<=", float(law.median()))
    reasons = decide(beta_fit(15, 285), rule).reasons
    assert any("no practical amount of data" in reason for reason in reasons)


def test_monte_carlo_error_of_independent_and_of_sticky_draws():
    rng = np.random.default_rng(1)
    values = rng.random((4, 1000))
    held = values < 0.3
    independent = monte_carlo_error(held, [values])
    # ESS of 4,000 independent draws is estimated within some 5 %.
    assert independent == pytest.approx(np.sqrt(0.3 * 0.7 / 4000), rel=0.1)
    sticky = np.repeat(values[:, :100], 10, axis=1)
    assert monte_carlo_error(sticky < 0.3, [sticky]) > 2.5 * independent
    # Certainty among n draws: the error of a share of 1 / (n + 2), not 0.
    sure = monte_carlo_error(values < 2.0, [values])
    assert 0.5 / 4000 < sure < 2 / 4000
    few = monte_carlo_error(held, [values], importance_draws=100.0)
    assert few == pytest.approx(np.sqrt(0.3 * 0.7 * (1 / 100 + 1 / 4000)), rel=0.1)


def test_a_probability_near_the_threshold_asks_for_draws():
    """1,000 independent draws: the error of 0.95 is 0.007, so 0.94 is within two, 0.92 is not."""
    rng = np.random.default_rng(2)
    for share, asks in ((0.94, True), (0.92, False), (0.055, True), (0.5, False)):
        values = rng.permutation(np.where(np.arange(1000) < 1000 * share, 0.01, 0.09))
        decision = decide(tree({"prevalence": values.reshape(4, -1, 1)}), Rule())
        assert any("more draws" in reason for reason in decision.reasons) is asks, share


def test_dictionary_and_text_of_a_decision():
    rule = Rule.all(["P(prevalence <= 0.05) >= 0.95; rope=0.01", "P(item_rate <= 0.06) >= 0.9"])
    rates = {"prevalence": beta_quantiles(10, 290)[..., None]}
    rates["item_rate"] = rates["prevalence"][::-1]
    decision = decide(tree(rates), rule, cost_of_more=0.01)
    told = json.loads(json.dumps(decision.to_dict(), allow_nan=False))
    assert (told["schema"], told["schema_version"]) == ("hero_bayes.decision", 1)
    assert told["outcome"] == decision.outcome
    assert Rule.parse(told["rule"]) == rule
    assert Rule.from_dict({"all": told["rules"]}) == rule
    assert [part["probability"] for part in told["parts"]] == list(decision.probabilities.values())
    assert ("inside_rope" in told["parts"][0], "inside_rope" in told["parts"][1]) == (True, False)
    assert told["missing"] is None
    assert str(decision).startswith(f"{decision.outcome.upper()}: P(prevalence <= 0.05) >= 0.95")
    assert all(reason in str(decision) for reason in decision.reasons)
    assert "&lt;=" in decision._repr_html_()
    with pytest.raises(dataclasses.FrozenInstanceError):
        decision.outcome = "ship"
