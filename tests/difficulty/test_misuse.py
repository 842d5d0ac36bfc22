"""Wrong arguments and wrong objects: what is said, and of which kind the error is."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from many import beta_fit, from_counts

import hero_bayes as hb
from hero_bayes import difficulty as room
from hero_bayes.difficulty.comparing import EQUAL_REASON, Pair, on_new_prompts

COUNTS = pd.DataFrame({"prompt": range(6), "n_correct": [0, 1, 2, 3, 4, 4], "k": 4})
ANSWERS = pd.DataFrame(
    {
        "prompt": [0, 0, 1, 1],
        "generation": [1, 2, 1, 2],
        "correct": [0, 0, 1, 0],
        "answer": ["7", "7", "8", "9"],
    }
)
PRICES = {"prompt": 1.0, "generation": 1.0}
FIT = beta_fit([0.4, 0.5], [0.2, 0.3])
BETWEEN = "prob must lie between 0 and 1"
SEED = "random_seed must be a whole number of at least 0"

BAD_VALUES = {
    "compare, prob": (lambda: room.compare(FIT, prob=1.5), BETWEEN),
    "compare, seed": (lambda: room.compare(FIT, random_seed=-1), SEED),
    "moments_table, prob": (lambda: room.moments_table(COUNTS, prob=0.0), BETWEEN),
    "a text as prob": (lambda: room.data_map(COUNTS, prob="a"), BETWEEN),
    "plan, seed": (lambda: room.plan(COUNTS, random_seed=-1), SEED),
    "fit, seed": (lambda: room.fit(COUNTS, mode="laplace", random_seed=-1), SEED),
    "k_curve, seed": (lambda: room.k_curve(COUNTS, random_seed=-1), SEED),
    "review_list, seed": (lambda: room.review_list(COUNTS, random_seed=-1), SEED),
    "consistency, seed": (lambda: room.consistency(ANSWERS, random_seed=-1), SEED),
    "infinite k": (lambda: room.plan(COUNTS, k=np.inf), "whole numbers"),
    "infinite n": (lambda: room.plan(COUNTS, n=[3, np.inf]), "whole numbers"),
    "cost below 0": (lambda: room.plan(COUNTS, cost=lambda n, k: -1.0), "a cost is a finite"),
    "cost NaN": (lambda: room.plan(COUNTS, cost={**PRICES, "prompt": np.nan}), "a cost is"),
    "cost a number": (lambda: room.plan(COUNTS, cost=3.0), "mapping or a function"),
    "costs of best_k": (lambda: room.best_k(COUNTS, 3.0), "needs 'prompt' and 'generation'"),
}


@pytest.mark.parametrize(("call", "match"), BAD_VALUES.values(), ids=BAD_VALUES)
def test_bad_values(call, match):
    with pytest.raises(ValueError, match=match) as caught:
        call()
    assert caught.type is ValueError


BAD_OBJECTS = {
    "compare": (lambda: room.compare(3), "what hb.difficulty.fit returned"),
    "compare, empty": (lambda: room.compare(xr.DataTree()), "what hb.difficulty.fit returned"),
    "moments": (lambda: room.moments(3), "must be a pandas DataFrame, not int"),
    "data_map": (lambda: room.data_map("log.csv"), "must be a pandas DataFrame, not str"),
    "data_map, fit": (lambda: room.data_map(COUNTS, fit=3), "use hb.difficulty.fit"),
    "plan": (lambda: room.plan(None), "must be a pandas DataFrame"),
    "pass_at_k": (lambda: room.pass_at_k([1, 0]), "must be a pandas DataFrame, not list"),
    "variance_shares": (lambda: room.variance_shares(3, COUNTS), "this is no fit"),
    "enough, no table": (lambda: room.enough(3), "table that k_curve returned"),
    "enough, other table": (lambda: room.enough(COUNTS), "table that k_curve returned"),
    "enough, no row": (lambda: room.enough(room.k_curve(COUNTS).head(0)), "at least one row"),
    "density, no fit": (lambda: room.density({}), "no fits in the mapping"),
    "rule": (lambda: room.review_list(COUNTS, rule=(0.1,)), "give two numbers"),
    "rule of texts": (lambda: room.review_list(COUNTS, rule=("a", "b")), "give two numbers"),
    "prior": (lambda: room.review_list(COUNTS, prior=3), "give two numbers"),
}


@pytest.mark.parametrize(("call", "match"), BAD_OBJECTS.values(), ids=BAD_OBJECTS)
def test_bad_objects(call, match):
    with pytest.raises(hb.DataError, match=match):
        call()


def test_data_map_wants_the_fit_of_its_generations():
    data = from_counts([0, 1, 2, 3], 3)
    tree = room.fit(data, mode="laplace", random_seed=1, draws=50)
    assert len(room.data_map(data, tree)) == 4
    with pytest.raises(hb.DataError, match="made from other generations"):
        room.data_map(from_counts([0, 1, 2, 2], 3), tree)


def test_differences_equal_but_for_rounding():
    other = np.array([1, 2, 3]) / 10
    own = other + 0.3
    assert np.ptp(own - other) > 0.0  # equal, were it not for rounding
    draws = np.full((2, 3), 0.5)
    pair = Pair(draws, draws, own, other, np.arange(3))
    found, sd = on_new_prompts(pair, np.random.default_rng(1))
    low, high = np.quantile(found, [0.25, 0.75])  # t with 2 degrees of freedom: 0.816 sd
    assert (high - low) / 2 == pytest.approx(0.816 * sd, rel=0.1)
    both = pd.concat([COUNTS.assign(model="a"), COUNTS.assign(model="b")])
    table = room.compare(room.fit(both, mode="laplace", random_seed=1, draws=50))
    assert table["reason"].tolist() == [EQUAL_REASON, ""]


def test_two_generations_say_little_of_consistency():
    table = room.data_map(ANSWERS)
    assert (
        table["note"].tolist()
        == ["k = 2: S is at least -0.69, so high consistency says little"] * 2
    )
    more = pd.concat([ANSWERS, ANSWERS])
    more["generation"] = range(len(more))
    assert room.data_map(more)["note"].tolist() == ["", ""]
    assert room.data_map(COUNTS.assign(k=4))["note"].unique().tolist() == [""]


@pytest.mark.parametrize("several", [False, True])
def test_one_generation_each_does_not_split_prompts_from_generations(several):
    items = [f"i{n}" for n in range(6)]
    prompt = [n // 2 if several else n for n in range(6)]
    labels = hb.Labels.from_frames(
        pd.DataFrame({"item": items, "labeler": "j", "label": [0, 1] * 3}),
        pd.DataFrame({"item": items, "prompt": prompt}),
    )
    dims = ("chain", "draw", "group")
    values = {"prevalence": [0.4, 0.6], "icc": [0.5, 0.5], "item_rate": [0.4, 0.5]}
    posterior = xr.Dataset(
        {name: (dims, np.array(x).reshape(1, 2, 1)) for name, x in values.items()},
        coords={"group": ["current"]},
    )
    tree = xr.DataTree.from_dict({"posterior": posterior})
    tree.attrs["current_fingerprint"] = labels.fingerprint
    table = room.variance_shares(tree, labels).set_index("source")
    n = 3 if several else 6
    expected = 0.24 * (0.5 + 0.5 / (2 if several else 1)) / n
    assert table.loc["labelers", "share"] == pytest.approx(0.005 / (0.005 + expected), rel=1e-12)
    split = table.loc[["prompts", "generations"]]
    assert split["share"].isna().all() != several
    assert (split["reason"] != "").all() != several


def test_a_missing_answer_is_no_text():
    said = str(room.review_list(COUNTS))
    assert "None" not in said
    rows = ANSWERS.assign(answer=[None, None, "8", "9"])
    shown = room.review_list(rows, key_exact=True)
    assert "None" not in str(shown)
    assert "None" not in shown._repr_html_()


def test_plots_of_odd_tables():
    from hero_bayes.plots.curves import plot_k_curve
    from hero_bayes.plots.data_map import plot_data_map

    curve = room.k_curve(COUNTS, k=(1, 2, 4))
    lines = [plot_k_curve(t).axes[0].lines[0].get_xydata() for t in (curve, curve[::-1])]
    np.testing.assert_array_equal(*lines)
    table = room.data_map(pd.concat([ANSWERS.assign(model=m) for m in ("$a$", "b")]))
    table.loc[table["model"] == "b", ["S", "S_low", "S_high"]] = np.nan
    figure = plot_data_map(table)
    assert figure.axes[0].get_title() == r"\$a\$"
    assert "no answers" in figure.axes[1].texts[0].get_text()
    figure.canvas.draw()


def test_roles_are_no_covariates():
    items = [f"i{n}" for n in range(8)]
    labels = pd.DataFrame({"item": items, "labeler": "j", "label": [0, 1] * 4})
    gold = pd.DataFrame({"item": items, "gold": [0, 1] * 4})
    history = hb.Labels.from_frames(labels, gold)
    current = hb.Labels.from_frames(labels, gold.assign(prompt=[1, 1, 2, 2, 3, 3, 4, 4]))
    assert list(current.texts) == ["prompt"]
    codes = {finding.code for finding in hb.check(history, current)}
    assert "covariate_not_shared" not in codes
