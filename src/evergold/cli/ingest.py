"""`evergold ingest`: files of traces into the store."""

import sys
from pathlib import Path
from typing import Any

import click

from evergold.cli.opening import opened
from evergold.cli.output import cluster_option, echo, emit_json, json_flag, progress
from evergold.storage import matching


@click.command()
@click.argument("files", nargs=-1, required=True, type=str)
@click.option("--source", metavar="NAME", help="Format of the files (default: recognised).")
@click.option(
    "--unit",
    type=click.Choice(["task", "turn"]),
    help="What becomes a trace: of an agent's log the whole task by default, of a chat each turn.",
)
@click.option("--strict", is_flag=True, help="Store nothing when any record is bad.")
@cluster_option
@json_flag
@click.pass_context
def command(ctx: click.Context, /, files: tuple[str, ...], as_json: bool, strict: bool, **how: Any) -> int:
    """Take in traces, scores and corrections from FILES (- is standard input).

    Bad records are reported as `file:line: field: reason` and counted; the good ones are stored. Exit code 1 when any
    was rejected. The same file twice changes nothing.
    """
    inputs = [one for name in files for one in ([sys.stdin.buffer] if name == "-" else matching(name))]
    # The size is for the progress bar; standard input and objects of a store have none.
    size = sum(path.stat().st_size for path in inputs if isinstance(path, Path) and path.is_file())
    with opened(ctx) as workspace, progress("ingesting", size or None) as advance:
        report = workspace.intake.ingest(inputs, strict=strict, progress=advance, **how)
    for problem in report.problems:
        echo(problem, err=True)
    if report.rejected > len(report.problems):
        echo(f"… and {report.rejected - len(report.problems)} more rejected records", err=True)
    if as_json:
        emit_json(report.counts())
    else:
        counts_text = ", ".join(
            f"{count} {name}" for name, count in report.counts().items() if count or name == "traces"
        )
        echo(f"ingested: {counts_text}" + ("; nothing was stored (--strict)" if strict and report.rejected else ""))
    return int(report.rejected > 0)
