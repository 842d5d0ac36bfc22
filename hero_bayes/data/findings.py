"""What a check found, as a table and in words."""

import html
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from hero_bayes.words import number_of

__all__ = ["Finding", "Findings", "Severity"]

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
COLUMNS = ("severity", "code", "message", "remedy")


@dataclass(frozen=True)
class Finding:
    """One thing that is legal but dangerous.

    Attributes
    ----------
    severity : {"error", "warning", "note"}
        "error": some method will refuse; "warning": some answer may be wrong; "note": good to know.
    code : str
        A short stable name.
    message, remedy : str
        What was found, and what to do.
    """

    severity: Severity
    code: str
    message: str
    remedy: str


@dataclass(frozen=True)
class Findings:
    """All findings of a check, the gravest first."""

    findings: tuple[Finding, ...]

    def __post_init__(self) -> None:
        """Sort by severity, keeping the order within."""
        ranked = sorted(self.findings, key=lambda finding: SEVERITIES.index(finding.severity))
        object.__setattr__(self, "findings", tuple(ranked))

    @property
    def table(self) -> pd.DataFrame:
        """One row a finding: severity, code, message, remedy."""
        rows = [[getattr(finding, name) for name in COLUMNS] for finding in self.findings]
        return pd.DataFrame(rows, columns=list(COLUMNS))

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes, one per finding."""
        return tuple(finding.code for finding in self.findings)

    def __len__(self) -> int:
        """Return the number of findings."""
        return len(self.findings)

    def __iter__(self) -> Iterator[Finding]:
        """Iterate over the findings."""
        return iter(self.findings)

    def __str__(self) -> str:
        """Return the counts, then a finding and its remedy per paragraph."""
        lines = [self._headline()]
        for finding in self.findings:
            lines.append(f"{finding.severity.upper()} {finding.code}: {finding.message}")
            lines.append(f"    -> {finding.remedy}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        head = "".join(f"<th>{name}</th>" for name in COLUMNS)
        body = "".join(
            "<tr>"
            + "".join(f"<td>{html.escape(getattr(finding, name))}</td>" for name in COLUMNS)
            + "</tr>"
            for finding in self.findings
        )
        return (
            f"<p>{self._headline()}</p><table><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>"
        )

    def _headline(self) -> str:
        if not self.findings:
            return "Nothing found among the things checked."
        counts = [(sum(f.severity == name for f in self.findings), name) for name in SEVERITIES]
        said = [number_of(n, name) for n, name in counts if n]
        return "Found " + ", ".join(said) + "."
