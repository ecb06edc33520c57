"""`evergold verify`: derives every hash of a build again."""

from pathlib import Path

import click

from evergold.cli.opening import without_database
from evergold.cli.output import emit_json, json_flag
from evergold.cli.paths import A_PATH
from evergold.cli.verdict import print_report


@click.command()
@click.argument("folder", type=A_PATH)
@json_flag
@click.pass_context
def command(ctx: click.Context, /, folder: Path, as_json: bool) -> int:
    """Prove that the build in FOLDER (or the one of a manifest file) is still the one that was made."""
    with without_database(ctx) as workspace:
        report = workspace.rag.verify(folder)
    if as_json:
        emit_json(report.to_json())
    else:
        print_report(report)
    return 1 if report.failed else 0
