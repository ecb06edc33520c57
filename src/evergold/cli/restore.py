"""`evergold restore`: a workspace from the file that `evergold backup` wrote."""

from pathlib import Path

import click

from evergold.cli.backup import show
from evergold.cli.opening import without_database
from evergold.cli.output import json_flag, progress
from evergold.cli.paths import PathOrUrl
from evergold.workspace.backups import STEPS


@click.command()
@click.argument("file", type=PathOrUrl(dir_okay=False))
@click.option("--replace", is_flag=True, help="Replace a workspace that holds data.")
@click.option("--check", is_flag=True, help="Compare every part of FILE with its hash; restore nothing.")
@json_flag
@click.pass_context
def command(ctx: click.Context, file: Path, replace: bool, check: bool, as_json: bool) -> None:
    """Make this workspace what it was when FILE was written. SQLite and PostgreSQL take each other's backups.

    FILE is read and verified as a whole before anything changes; then the database changes in one transaction. Refused while
    a server uses the workspace. Settings of the backup are put into `restored-settings` of the workspace, unused.
    """
    with without_database(ctx) as workspace, progress("checking" if check else "restoring", STEPS) as advance:
        if check:
            report = workspace.backups.check(file, advance)
        else:
            report = workspace.backups.restore(file, replace=replace, progress=advance)
    show(report, "whole" if check else "restored", as_json)
