import pandas as pd
import pytest

from hero_bayes.cli.printing import Report
from hero_bayes.cli.reading import ReadingOptions
from hero_bayes.cli.verdict_words import read_words
from hero_bayes.cli.wording import in_flags, join
from hero_bayes.words import number_of


@pytest.mark.parametrize(
    ("python", "flags"),
    [
        ("with positive=", "with --positive"),
        ('for example positive="yes"', "for example --positive yes"),
        ("with abstain=[...]", "with --abstain"),
        ('pass unlabeled="drop" to', "pass --drop-unlabeled to"),
        ('pass repeats="majority", "first" or "keep"', "pass --repeats majority, first or keep"),
        ("columns={'item': 'task'}", "--column item=task"),
        ("columns={'item': ...}", "--column item=YOUR_COLUMN"),
        ('use method="hero1"', "use --method hero1"),
        ('use method="dawid_skene" or "hero1", which', "use --method dawid_skene or hero1, which"),
        ('use shrink="optimal"', "use --shrink optimal"),
        (
            "declare it with Labels.from_frames(..., covariates=['x'])",
            "declare it with --covariate x",
        ),
        (
            "declare them with Labels.from_frames(..., covariates=[...])",
            "declare them with --covariate NAME",
        ),
        ('fit model="pooled"', 'fit model="pooled"'),
    ],
)
def test_remedies_become_flags(python, flags):
    assert in_flags(python) == flags


def test_small_words():
    assert join(["a", "b", "c"]) == "a, b and c"
    assert join(["a"]) == "a"
    assert number_of(1, "thing") == "1 thing"
    assert number_of(2000, "thing") == "2,000 things"


@pytest.mark.parametrize(
    ("values", "flags"),
    [
        ([0, 1, 1], ""),
        ([True, False], ""),
        (["yes", "no", "no"], "--positive yes"),
        (["Safe", "Unsafe", "Safe"], "--positive Unsafe"),
        (["yes", "no", "unsure", None], "--positive yes --negative no --abstain unsure"),
        ([0, 1, 2], "--abstain 2"),
        ([0, 1, -1], "--abstain -1"),
        ([0, 1, "n/a", "skip"], "--abstain n/a --abstain skip"),
        (["A", "B", "B"], "--positive A"),
        (["no", "no"], "--positive yes"),
    ],
)
def test_values_are_read(values, flags):
    words = read_words([pd.Series(values, dtype=object)], ReadingOptions())
    assert words.problem is None
    assert " ".join(words.options.flags()) == flags
    assert bool(words.assumed) == bool(flags)


@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5], ["good", "fair", "poor"], ["a"]])
def test_values_that_are_no_two_classes(values):
    words = read_words([pd.Series(values, dtype=object)], ReadingOptions())
    assert words.problem


def test_what_the_caller_said_stays():
    said = ReadingOptions(positive="no", negative="yes", abstain=("unsure",))
    words = read_words([pd.Series(["no", "yes", "unsure", "unsure"])], said)
    assert words.options == said
    assert {v.value: v.read_as for v in words.values} == {
        "no": "1",
        "yes": "0",
        "unsure": "no verdict",
    }
    half = read_words([pd.Series(["no", "yes", "unsure"])], ReadingOptions(positive="no"))
    assert half.options == said


@pytest.mark.parametrize(
    ("python", "flags"),
    [
        ("columns={'item': 'my id'}", "--column 'item=my id'"),
        ("""columns={'item': "Anna's id"}""", """--column 'item=Anna'"'"'s id'"""),
        ('columns={"model": ...}', "--column model=YOUR_COLUMN"),
        ('positive="very bad"', "--positive 'very bad'"),
        ("Labels.from_frames(..., covariates=['turns so far'])", "--covariate 'turns so far'"),
    ],
)
def test_values_in_remedies_are_quoted(python, flags):
    assert in_flags(python) == flags


@pytest.mark.parametrize(
    "kept",
    ["--abstain 'Off topic'", "--column item=x", "/tmp/a b/" + "c" * 120, "/tmp/d/e f.csv"],
)
@pytest.mark.parametrize("before", range(60, 100, 7))
def test_lines_never_end_inside_an_option_or_a_path(capsys, kept, before):
    report = Report(kept) if kept.startswith("/") else Report()
    text = f"{'w ' * (before // 2)}{kept} {'v ' * 30}"
    report.text(text)
    report.bullet(text)
    report.table(("one", "two"), [(text, text)])
    lines = capsys.readouterr().out.splitlines()
    assert sum(kept in line for line in lines) >= 3
    assert "\ue000" not in "".join(lines)
