"""How a report of checks is printed, for `check` and `verify`."""

import click
import orjson

from evergold.build.findings import Finding, Report
from evergold.cli.output import table


def print_report(report: Report) -> None:
    rows = [(finding.outcome, finding.check, finding.split, _note(finding)) for finding in report.findings]
    table(f"{report.manifest} ({report.version})", ("result", "check", "split", "note"), rows)
    for finding in report.failed:
        for example in finding.examples:
            click.echo(f"{finding.split}: {finding.check}: {example}", err=True)
        if finding.count > len(finding.examples):
            click.echo(
                f"{finding.split}: {finding.check}: … and {finding.count - len(finding.examples)} more", err=True
            )
    for split, records in report.samples.items():
        for record in records:
            click.echo(f"\n{split}: {orjson.dumps(record, option=orjson.OPT_INDENT_2).decode()}")


def _note(finding: Finding) -> str:
    if finding.outcome == "failed":
        return f"{finding.count} times: {finding.message}" if finding.count > 1 else finding.message
    measured = ", ".join(f"{name} {value}" for name, value in finding.measured.items())
    return finding.message or measured
