"""`evergold backup`: the whole workspace into one file, while it is in use."""

from pathlib import Path

import click

from evergold.cli.opening import opened
from evergold.cli.output import echo, emit_json, json_flag, progress
from evergold.cli.paths import PathOrUrl
from evergold.workspace.backups import STEPS, BackupReport


@click.command()
@click.argument("file", type=PathOrUrl(dir_okay=False))
@json_flag
@click.pass_context
def command(ctx: click.Context, file: Path, as_json: bool) -> None:
    """Write database, builds and settings of the workspace into FILE, verified by hash. Servers may go on meanwhile.

    FILE holds all that the workspace holds and can be read by its owner alone. An earlier backup of that name is replaced
    when the new one is whole.
    """
    with opened(ctx) as workspace, progress("backing up", STEPS) as advance:
        report = workspace.backups.write(file, advance)
    show(report, "backed up", as_json)


def show(report: BackupReport, done: str, as_json: bool) -> None:
    if as_json:
        emit_json(report)
        return
    rows = report.rows
    echo(
        f"{done}: {report.file}, {report.bytes / 1e6:.1f} MB; {rows['traces']} traces, {rows['eval_dataset']} cases, "
        f"{rows['runs']} runs, {len(report.builds)} builds; {report.hash}"
    )
    for one in report.missing:
        echo(f"files of a build are not in it: {one}", err=True)
