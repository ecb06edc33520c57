"""Code that the verbs of `evergold extract` share: where cases go, and how a summary is printed."""

from collections import Counter
from pathlib import Path
from typing import Any

import click

from evergold.cli.output import echo, emit_json, json_flag, table
from evergold.cli.paths import PathOrUrl
from evergold.extract.run import Summary
from evergold.workspace.flows import Destination

SHOWN = 10


def shared_options(function: Any) -> Any:
    options = [
        click.option(
            "--out-dir",
            type=PathOrUrl(file_okay=False),
            default=Path(),
            help="Where the two files go.",
        ),
        click.option("--full", is_flag=True, help="Extract everything again and overwrite."),
        click.option(
            "--into-store", is_flag=True, help="Also put the cases, with their evidence, into dataset 'context'."
        ),
        json_flag,
    ]
    # Decorators apply from the bottom up: reversed, the options are listed as they are written here.
    for option in reversed(options):
        function = option(function)
    return function


def destination(given: dict[str, Any]) -> Destination:
    return Destination(given["out_dir"], given["full"], given["into_store"])


def report(summary: Summary, as_json: bool, left_out: str = "commits") -> int:
    """Print a summary; `left_out` names what the reasons count. The exit code says whether anything was unreadable."""
    if as_json:
        emit_json(summary.as_dict())
        return int(bool(summary.rejected))
    counts = summary.counts
    echo(
        f"{counts['new']} new, {counts['known']} known, {counts['completed']} completed, {counts['resolved']} resolved, "
        f"{counts['unchanged']} still open as before"
    )
    _print_reasons("cases need a query", summary.needs_query)
    _print_reasons("cases need a base commit", summary.needs_base_commit)
    if summary.skipped:
        table("left out", (left_out, "reason"), [(count, name) for name, count in summary.skipped.most_common()])
    for remark in summary.remarks[:SHOWN]:
        echo(f"note: {remark}", err=True)
    for item in summary.rejected:
        echo(f"rejected: {item}", err=True)
    for name in summary.files:
        echo(name)
    return int(bool(summary.rejected))


def _print_reasons(what: str, reasons: dict[str, str]) -> None:
    """How many cases are open, and for which reasons; single cases are in the rows and in --json."""
    if not reasons:
        return
    echo(f"{len(reasons)} {what}:")
    for reason, count in Counter(reasons.values()).most_common(SHOWN):
        echo(f"  {count}  {reason}")
