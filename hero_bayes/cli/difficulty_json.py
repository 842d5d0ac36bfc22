"""The JSON object of ``hero-bayes difficulty --json``."""

from collections.abc import Sequence
from pathlib import Path

from hero_bayes._version import __version__
from hero_bayes.cli.difficulty_report import REVIEW_ROWS, Source, sentence
from hero_bayes.cli.difficulty_tables import Answer, flags_of, in_words, records, regions
from hero_bayes.cli.printing import print_json

__all__ = ["write_json"]

SCHEMA_VERSION = 1


def write_json(found: Answer, source: Source, written: Sequence[Path]) -> None:
    """One JSON object on standard output; what is unknown is null, with a ``reason`` beside it."""
    data, asked = found.generations, found.asked
    known = found.review.error_rate == found.review.error_rate
    print_json(
        {
            "schema_version": SCHEMA_VERSION,
            "hero_bayes_version": __version__,
            "command": "difficulty",
            **vars(asked),
            "data": {
                "source": source.name,
                "bundled": source.bundled,
                "prompts": data.n_prompts,
                "models": [str(name) for name in data.models],
                "generations": data.n_generations,
                "missing": data.n_missing,
                "empty_rows": data.reading.empty_rows,
                "empty_columns": data.reading.empty_columns,
                "rows": data.has_rows,
                "fingerprint": data.fingerprint,
            },
            "columns": [{**vars(use), "how": flags_of(use.how)} for use in data.column_uses],
            "findings": [vars(finding) for finding in in_words(data.findings)],
            "gate": {
                "passed": found.gate.passed,
                "reasons": [flags_of(reason) for reason in found.gate.reasons],
                "notes": [flags_of(note) for note in found.gate.notes],
            },
            "summary": records(found.summary),
            "pass_at_k": records(found.passes),
            "comparison": None if found.comparison is None else records(found.comparison),
            "comparison_reason": found.no_comparison or None,
            "enough": records(found.enough),
            "plan": None if found.plans is None else records(found.plans),
            "plan_reason": "no --target-se" if found.plans is None else None,
            "regions": [
                {"model": model, **of_model} for model, of_model in regions(found.prompts).items()
            ],
            "review": {
                "prompts": len(found.review.table),
                "error_rate": found.review.error_rate,
                "error_rate_interval": found.review.error_rate_interval,
                "error_rate_reason": None if known else "there are no answers",
                "warnings": [flags_of(text) for text in found.review.warnings],
                "rows": records(found.review.table.head(REVIEW_ROWS)),
            },
            "files": [str(path) for path in written],
            "finding": sentence(found),
        }
    )
