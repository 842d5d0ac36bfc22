"""Rules: fields, text and back, dictionaries, and what is wrong with bad ones."""

import json
import math
import tomllib

import numpy as np
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from hero_bayes.decision.rule import METRICS, JointRule, Rule

NAMES = st.one_of(
    st.sampled_from(["A", "B", "r2/A", "gpt-4.1", "a - b", 'x"y', "[z]", "P(", "odds(a)", "u\\v"]),
    st.text(min_size=1, max_size=12).filter(lambda name: name.strip() != ""),
)
PROBABILITIES = st.floats(0.5, 1.0, exclude_max=True)
LOSSES = st.floats(1e-6, 1e6)


@st.composite
def rules(draw):
    fields = {
        "metric": draw(st.sampled_from(METRICS)),
        "direction": draw(st.sampled_from(["<=", "<", ">=", ">"])),
        "probability": draw(PROBABILITIES),
        "loss_wrong_ship": draw(LOSSES),
        "loss_wrong_hold": draw(st.one_of(st.just(1.0), LOSSES)),
    }
    if draw(st.booleans()):
        pair = draw(st.lists(NAMES, min_size=2, max_size=2, unique=True))
        contrast = draw(st.sampled_from(["difference", "ratio", "odds_ratio"]))
        fields |= {"arm": pair[0], "reference": pair[1], "contrast": contrast}
        threshold = draw(st.floats(-1, 1) if contrast == "difference" else st.floats(0, 100))
    else:
        fields["group"] = draw(st.one_of(st.none(), NAMES))
        threshold = draw(st.floats(0, 1))
    width = st.floats(1e-3, 1.0)
    ends = st.tuples(width, width).map(lambda two: (threshold - two[0], threshold + two[1]))
    rope = draw(st.one_of(st.none(), width, ends))
    plain = Rule(threshold=threshold, **fields)
    reach = rope if isinstance(rope, float | None) else rope[plain.wants_low] - threshold
    far = threshold + abs(reach or 0.0) * (1 if plain.wants_low else -1)
    low, high = plain.limits
    return Rule(threshold=threshold, rope=rope if low <= far <= high else None, **fields)


@given(rules())
def test_text_is_read_back(rule):
    assert Rule.parse(str(rule)) == rule


@given(rules())
def test_dictionary_survives_json_and_toml(rule):
    for fields in (
        json.loads(json.dumps(rule.to_dict(), allow_nan=False)),
        tomllib.loads(tomli_w.dumps({"rule": [rule.to_dict()]}))["rule"][0],
    ):
        assert Rule.from_dict(fields) == rule


@given(st.lists(rules(), min_size=2, max_size=3, unique=True))
def test_several_rules_are_read_back(parts):
    joint = Rule.all(parts)
    assert Rule.parse(str(joint)) == joint
    assert Rule.from_dict(json.loads(json.dumps(joint.to_dict()))) == joint
    assert joint.probability == max(part.probability for part in parts)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("P(prevalence <= 0.05) >= 0.95", {}),
        ("  P( prevalence<=5% )>=95 % ", {}),
        ("P(prevalence <= 0.05) >= 0.95; rope=0.01", {"rope": 0.01}),
        ("P(prevalence <= 0.05) >= 0.95; rope=(0.04, 0.07)", {"rope": (0.04, 0.07)}),
        (
            "P(item_rate[r2/A] > 0.05) >= 0.95; loss_wrong_ship=5",
            {"metric": "item_rate", "direction": ">", "group": "r2/A", "loss_wrong_ship": 5.0},
        ),
        (
            "P(B - A <= 0) >= 0.9",
            {"threshold": 0.0, "probability": 0.9, "arm": "B", "reference": "A"},
        ),
        (
            "P(item_rate[v-2] / item_rate[v-1] < 1.1) >= 0.9",
            {
                "metric": "item_rate",
                "direction": "<",
                "threshold": 1.1,
                "probability": 0.9,
                "arm": "v-2",
                "reference": "v-1",
                "contrast": "ratio",
            },
        ),
        (
            "P(odds(B) / odds(A) <= 1) >= 0.9",
            {
                "threshold": 1.0,
                "probability": 0.9,
                "arm": "B",
                "reference": "A",
                "contrast": "odds_ratio",
            },
        ),
        ('P("a - b" - new model <= 0.05) >= 0.95', {"arm": "a - b", "reference": "new model"}),
    ],
)
def test_what_texts_mean(text, fields):
    assert Rule.parse(text) == Rule(**fields)


def test_and_inside_the_brackets_shares_the_probability():
    joint = Rule.parse("P(prevalence <= 0.05 and item_rate[A] <= 0.1) >= 0.9; rope=0.01")
    assert isinstance(joint, JointRule)
    assert joint.parts == (
        Rule("prevalence", "<=", 0.05, probability=0.9, rope=0.01),
        Rule("item_rate", "<=", 0.1, probability=0.9, rope=0.01, group="A"),
    )


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("prevalence <= 0.05", r'does not start with "P\("'),
        ("P(prevalence <= 0.05", "brackets do not match"),
        ("P(prevalence <= 0.05)", 'does not end with ">="'),
        ("P(prevalence <= 0.05) <= 0.95", 'does not end with ">="'),
        ("P(prevalence <= 0.05) >= often", "probability 'often' is no number"),
        ("P(prevalence <= few) >= 0.95", "threshold 'few' is no number"),
        ("P(prevalence = 0.05) >= 0.95", "does not compare a rate"),
        ("P(prevalance <= 0.05) >= 0.95", "metric 'prevalance' is none of prevalence"),
        ("P(B-A <= 0) >= 0.9", "between two arms put spaces"),
        ("P(item_rate[B] - A <= 0) >= 0.9", "not of one metric"),
        ("P(prevalence[] <= 0.05) >= 0.95", "group or arm is missing"),
        ("P( - A <= 0) >= 0.9", "between two arms put spaces"),
        ("P(prevalence <= 0.05) >= 0.95; rop=0.01", "'rop=0.01' is none of the settings rope"),
        ("P(prevalence <= 0.05) >= 0.95; rope=1; rope=2", "rope is set twice"),
        ("P(prevalence <= 0.05) >= 0.95 and", 'does not end with ">="|probability .* is no number'),
        ("", r'does not start with "P\("'),
    ],
)
def test_bad_texts_say_what_is_wrong(text, match):
    with pytest.raises(ValueError, match=match) as error:
        Rule.parse(text)
    assert "for example" in str(error.value)


@pytest.mark.parametrize(
    ("fields", "match"),
    [
        ({"metric": "recall"}, "metric 'recall' is none of"),
        ({"direction": "=="}, "direction '==' is none of"),
        ({"threshold": 5}, r"between 0 and 1, got 5 \(5 % is 0.05\)"),
        ({"threshold": math.nan}, "threshold must be a finite number"),
        ({"threshold": True}, "threshold must be a finite number"),
        ({"threshold": "0.05"}, "threshold must be a finite number"),
        ({"probability": 1.0}, "at least 0.5 and below 1, got 1"),
        ({"probability": 0.05}, "at least 0.5 and below 1, got 0.05"),
        ({"loss_wrong_ship": 0}, "loss_wrong_ship must be positive"),
        ({"rope": 0.0}, "rope must be positive"),
        ({"rope": (0.06, 0.07)}, "threshold 0.05 between them"),
        ({"rope": (0.01, 0.02, 0.03)}, "two ends"),
        ({"rope": "wide"}, "rope must be a finite number"),
        ({"group": ""}, "group must be a name"),
        ({"arm": "B"}, "both arm and reference"),
        ({"arm": "B", "reference": "B"}, "both 'B'"),
        ({"arm": "B", "reference": "A", "group": "r1"}, "group is for a rule on one group"),
        ({"contrast": "ratio"}, "needs arm and reference"),
        ({"arm": "B", "reference": "A", "contrast": "ratio", "threshold": -1}, "at least 0"),
    ],
)
def test_bad_fields_are_refused(fields, match):
    with pytest.raises(ValueError, match=match):
        Rule(**fields)


def test_bad_dictionaries_and_sets():
    with pytest.raises(ValueError, match="a rule has no limit; its fields are metric"):
        Rule.from_dict({"limit": 0.05})
    with pytest.raises(ValueError, match="no rule was given"):
        Rule.all([])
    with pytest.raises(ValueError, match="stands twice"):
        Rule.all(["P(prevalence <= 0.05) >= 0.95"] * 2)
    with pytest.raises(TypeError, match="a rule is text, got int"):
        Rule.parse(5)


@pytest.mark.parametrize(
    ("direction", "rope", "expected"),
    [
        ("<=", None, [True, True, False, False]),
        ("<", None, [True, False, False, False]),
        (">=", None, [False, True, True, True]),
        (">", None, [False, False, True, True]),
        # A rope lets values past the threshold in, up to its far end.
        ("<", 0.25, [True, True, True, False]),
        (">", 0.25, [True, True, True, True]),
        ("<=", (0.5, 0.7), [True, True, False, False]),
    ],
)
def test_where_a_rule_holds(direction, rope, expected):
    values = np.array([0.25, 0.5, 0.75, 1.0])
    rule = Rule("prevalence", direction, 0.5, rope=rope)
    assert rule.holds(values).tolist() == expected
    inside = (
        [False] * 4 if rope is None else [rule.region[0] <= v <= rule.region[1] for v in values]
    )
    assert rule.inside_rope(values).tolist() == inside


def test_all_takes_one_rule_and_refuses_what_is_none():
    text = "P(prevalence <= 0.05) >= 0.95"
    assert Rule.all(text) == Rule.all([text]) == Rule.all(Rule.parse(text))
    for wrong in (None, 5, [None], [text, 5]):
        with pytest.raises(TypeError, match="expected a Rule or its text"):
            Rule.all(wrong)


@pytest.mark.parametrize(
    "text",
    [
        "P(prevalence <= 0.05) >= 0.95; rope=1",
        "P(prevalence >= 0.05) >= 0.95; rope=0.1",
        "P(prevalence <= 0.05) >= 0.95; rope=(0.01, 5)",
        "P(B / A >= 0.9) >= 0.95; rope=1",
        "P(B - A <= 0) >= 0.95; rope=1.5",
    ],
)
def test_rope_under_which_nothing_could_be_false_is_refused(text):
    with pytest.raises(ValueError, match="would always ship"):
        Rule.parse(text)


def test_rope_may_pass_the_range_on_the_strict_side():
    assert Rule.parse("P(prevalence <= 0.05) >= 0.95; rope=0.1").limit == pytest.approx(0.15)
