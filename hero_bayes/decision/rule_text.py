"""Rules as text: ``P(prevalence <= 0.05) >= 0.95`` read and written."""

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["EXAMPLES", "quantity_text", "read_rules", "rule_text"]

EXAMPLES = 'for example "P(prevalence <= 0.05) >= 0.95" or "P(B - A <= 0) >= 0.9"'
#: What may follow a rule, as in "; rope=0.01".
SETTINGS = ("rope", "loss_wrong_ship", "loss_wrong_hold")
#: Sign between two arms, and the contrast it stands for.
SIGNS = {"-": "difference", "/": "ratio"}
PLAIN = re.compile(r"[\w.][\w.:+@/-]*")
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
AND = re.compile(r"\s+and\s+")
AND_RULE = re.compile(r"\s+and\s+(?=P\s*\()")
RULE = re.compile(r"\s*P\s*\((?P<events>.*)\)\s*>=\s*(?P<probability>[^;]*)(?P<settings>(?:;.*)?)")
EVENT = re.compile(r"\s*(?P<left>.*?)\s*(?P<direction><=|>=|<|>)\s*(?P<threshold>[^<>=]*)")
ODDS = re.compile(r"odds\s*\((?P<arm>[^()]*)\)\s*/\s*odds\s*\((?P<reference>[^()]*)\)")
SIGN = re.compile(r"\s+(?P<sign>[-/])\s+")
TERM = re.compile(r"\s*(?P<metric>[A-Za-z_]\w*)\s*\[(?P<name>.*)\]\s*")

Fields = dict[str, Any]


def read_rules(text: str) -> list[Fields]:
    """Fields of every rule in the text; several are joined by "and".

    Raises
    ------
    ValueError
        If the text is no rule; the message says what is wrong and gives an example.
    """
    if not isinstance(text, str):
        raise TypeError(f"a rule is text, got {type(text).__name__}; {EXAMPLES}")
    pieces = _split(text, AND_RULE)
    return [fields for piece in pieces for fields in _one_probability(piece, text)]


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number."""
    text = repr(float(value))
    return text.removesuffix(".0")


def name_text(name: str) -> str:
    """A group or arm as it stands in a rule: in double quotes where it has unusual characters."""
    return name if PLAIN.fullmatch(name) else json.dumps(name)


def _one_probability(piece: str, text: str) -> list[Fields]:
    """The rules of one "P(... and ...) >= p"."""
    found = RULE.fullmatch(_masked(piece))
    if found is None:
        raise _bad(text, _what_is_missing(_masked(piece)))
    shared: Fields = {
        "probability": _number(_cut(piece, found, "probability"), "probability", text)
    }
    shared |= _settings(_cut(piece, found, "settings"), text)
    events = _split(_cut(piece, found, "events"), AND)
    return [{**_event(event, text), **shared} for event in events]


def _what_is_missing(masked: str) -> str:
    if not re.match(r"\s*P\s*\(", masked):
        return 'it does not start with "P("'
    if masked.count("(") != masked.count(")"):
        return "its brackets do not match"
    return 'it does not end with ">=" and the probability that is asked for'


def _settings(written: str, text: str) -> Fields:
    fields: Fields = {}
    for entry in filter(None, (part.strip() for part in written.split(";"))):
        name, _, value = (part.strip() for part in entry.partition("="))
        if name not in SETTINGS or not value:
            raise _bad(
                text, f"{entry!r} is none of the settings {', '.join(SETTINGS)} (name=value)"
            )
        if name in fields:
            raise _bad(text, f"{name} is set twice")
        ends = value.removeprefix("(").removesuffix(")").split(",")
        numbers = [_number(end, name, text) for end in ends]
        fields[name] = numbers[0] if len(numbers) == 1 else tuple(numbers)
    return fields


def _event(event: str, text: str) -> Fields:
    """Metric, direction, threshold, and the group or the two arms."""
    found = EVENT.fullmatch(_masked(event))
    if found is None:
        raise _bad(text, f"{event.strip()!r} does not compare a rate with a number (<=, <, >=, >)")
    fields: Fields = {
        "direction": found["direction"],
        "threshold": _number(_cut(event, found, "threshold"), "threshold", text),
    }
    left = _cut(event, found, "left")
    masked = _masked(left)
    odds, sign = ODDS.fullmatch(masked), SIGN.search(masked)
    if odds is not None:
        pair = (_cut(left, odds, "arm"), _cut(left, odds, "reference"))
        return fields | {"contrast": "odds_ratio"} | _arms(*pair, text)
    if sign is not None:
        pair = (left[: sign.start()], left[sign.end() :])
        return fields | {"contrast": SIGNS[sign["sign"]]} | _arms(*pair, text)
    metric, name = _term(left, text)
    if metric is None:
        if re.search(r"[-/]", masked):
            raise _bad(text, f"{left!r} is no metric; between two arms put spaces, as in B - A")
        metric = name
    elif name is not None:
        fields["group"] = name
    return fields | {"metric": metric}


def _arms(first: str, second: str, text: str) -> Fields:
    (metric, arm), (other, reference) = _term(first, text), _term(second, text)
    if metric != other:
        raise _bad(text, f"{first.strip()!r} and {second.strip()!r} are not of one metric")
    return {"metric": metric or "prevalence", "arm": arm, "reference": reference}


def _term(term: str, text: str) -> tuple[str | None, str]:
    """Metric and name of ``metric[name]``; of a name alone, None and the name."""
    found = TERM.fullmatch(_masked(term))
    if found is None:
        return None, _name(term, text)
    return found["metric"], _name(_cut(term, found, "name"), text)


def _name(written: str, text: str) -> str:
    written = written.strip()
    if not written:
        raise _bad(text, "a metric, group or arm is missing")
    if QUOTED.fullmatch(written):
        try:
            return str(json.loads(written))
        except json.JSONDecodeError as error:
            raise _bad(text, f"{written} cannot be read: {error}") from error
    if re.search(r'[\[\]()"]', written):
        raise _bad(text, f"{written!r} is no name; put unusual names in double quotes")
    return written


def _number(written: str, role: str, text: str) -> float:
    """A number, or a percentage such as "5 %"."""
    stripped = written.strip()
    try:
        if stripped.endswith("%"):
            return float(stripped.removesuffix("%")) / 100.0
        return float(stripped)
    except ValueError as error:
        raise _bad(text, f"the {role} {stripped!r} is no number") from error


def _masked(text: str) -> str:
    """The text with quoted names blanked, of the same length."""
    return QUOTED.sub(lambda found: '"' + "_" * (len(found[0]) - 2) + '"', text)


def _cut(text: str, found: re.Match[str], name: str) -> str:
    """What a group of a match on the masked text stands for."""
    return text[found.start(name) : found.end(name)]


def _split(text: str, at: re.Pattern[str]) -> list[str]:
    """The text split where the masked text matches."""
    pieces, start = [], 0
    for found in at.finditer(_masked(text)):
        pieces.append(text[start : found.start()])
        start = found.end()
    return [*pieces, text[start:]]


def _bad(text: str, what: str) -> ValueError:
    return ValueError(f"the rule {text!r} cannot be read: {what}; {EXAMPLES}")


def quantity_text(fields: Mapping[str, Any]) -> str:
    """What a rule holds against its threshold, from its fields."""
    metric = fields["metric"]
    if fields["arm"] is None:
        group = "" if fields["group"] is None else f"[{name_text(fields['group'])}]"
        return f"{metric}{group}"
    names = [name_text(fields[role]) for role in ("arm", "reference")]
    if metric != "prevalence":
        names = [f"{metric}[{name}]" for name in names]
    if fields["contrast"] == "odds_ratio":
        return " / ".join(f"odds({name})" for name in names)
    sign = next(sign for sign, contrast in SIGNS.items() if contrast == fields["contrast"])
    return f" {sign} ".join(names)


def rule_text(fields: Mapping[str, Any]) -> str:
    """One rule as text, from its fields."""
    event = f"{quantity_text(fields)} {fields['direction']} {number_text(fields['threshold'])}"
    text = f"P({event}) >= {number_text(fields['probability'])}"
    rope = fields["rope"]
    if rope is not None:
        ends = [number_text(end) for end in (rope if isinstance(rope, tuple) else (rope,))]
        text += f"; rope={ends[0] if len(ends) == 1 else '(' + ', '.join(ends) + ')'}"
    for name in SETTINGS[1:]:
        if fields[name] != 1.0:
            text += f"; {name}={number_text(fields[name])}"
    return text
