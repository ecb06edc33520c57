"""Print a report of checks, for `check` and `verify`."""

from collections.abc import Iterator
from typing import Any

import orjson

from evergold.build.findings import Finding, Report
from evergold.cli.output import echo, table

NAME_WIDTH = 22
SHOWN_ITEMS = 3
LONGEST = 160


def print_report(report: Report) -> None:
    rows = [(finding.outcome, finding.check, finding.split, _note(finding)) for finding in report.findings]
    table(f"{report.manifest} ({report.version})", ("result", "check", "split", "note"), rows)
    for finding in report.failed:
        for example in finding.examples:
            echo(f"{finding.split}: {finding.check}: {example}", err=True)
        if finding.count > len(finding.examples):
            echo(f"{finding.split}: {finding.check}: … and {finding.count - len(finding.examples)} more", err=True)
    for split, records in report.samples.items():
        for record in records:
            echo(f"\n{split}: {record.get('task_id') or record.get('id') or ''}")
            for name, text in _compact(record):
                echo(f"  {name:<{NAME_WIDTH}} {text}")


def _compact(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The fields of a sampled record side by side with their names, cut to a few lines; `--json` has them whole."""
    for name, value in record.items():
        if isinstance(value, list):
            for number, item in enumerate(value[:SHOWN_ITEMS], 1):
                yield f"{name} {number}/{len(value)}", _one_line(item)
        elif value not in (None, "", {}) and name not in ("task_id", "id"):
            yield name, _one_line(value)


def _one_line(value: Any) -> str:
    text = " ".join((value if isinstance(value, str) else orjson.dumps(value).decode()).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"


def _note(finding: Finding) -> str:
    if finding.outcome == "failed":
        return f"{finding.count} times: {finding.message}" if finding.count > 1 else finding.message
    measured = ", ".join(f"{name} {value}" for name, value in finding.measured.items())
    return finding.message or measured
