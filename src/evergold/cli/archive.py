"""`evergold traces archive`, `restore` and `verify`: old traces into files by day, and a day back."""

from pathlib import Path

import click

from evergold.cli.opening import opened
from evergold.cli.output import echo, emit_json, json_flag, progress, table
from evergold.cli.paths import A_PATH


@click.command("archive")
@click.option("--older-than", required=True, metavar="AGE", help="Age as 30d, 12h or 2w.")
@click.option("--to", "target", required=True, type=A_PATH, metavar="URL", help="A folder, here or in an object store.")
@click.option("--dry-run", is_flag=True, help="Count; move nothing.")
@json_flag
@click.pass_context
def archive_command(ctx: click.Context, older_than: str, target: Path, dry_run: bool, as_json: bool) -> None:
    """Move old traces with everything about them into Parquet files by day, verified by hash.

    What a dataset entry cites stays in the workspace. Killed in the middle, nothing is lost: the same command again finishes.
    """
    with opened(ctx) as workspace, progress("archiving", None) as advance:
        archives = workspace.archives
        done = archives.would_move(older_than) if dry_run else archives.move(older_than, target, advance)
    if as_json:
        emit_json(vars(done) | {"dry_run": dry_run})
        return
    kept = f"; {done.kept} changed meanwhile and stay" if done.kept else ""
    kept += f"; {done.cited} that datasets cite stay" if done.cited else ""
    if dry_run and done.days:
        echo(f"would archive {done.traces} traces of {done.days} days in {target}{kept}")
    elif done.days:
        echo(f"archived {done.traces} traces of {done.days} days, {done.bytes / 1e6:.1f} MB, in {target}{kept}")
    else:
        echo(f"nothing to archive that is older than {older_than}{kept}")


@click.command("restore")
@click.argument("day", metavar="DAY")
@click.option("--from", "source", required=True, type=A_PATH, metavar="URL", help="The archive.")
@json_flag
@click.pass_context
def restore_command(ctx: click.Context, day: str, source: Path, as_json: bool) -> None:
    """Bring the traces of DAY (2026-01-05) back from an archive. Traces that are there stay as they are."""
    with opened(ctx) as workspace:
        count = workspace.archives.restore(day, source)
    if as_json:
        emit_json({"restored": count, "day": day})
    else:
        echo(f"restored {count} traces of {day}")


@click.command("verify")
@click.argument("archive", type=A_PATH, metavar="URL")
@json_flag
@click.pass_context
def verify_command(ctx: click.Context, archive: Path, as_json: bool) -> int:
    """Compare every file of the archive at URL with its hash, and list its days. Ends with 1 if one is damaged."""
    with opened(ctx) as workspace:
        days = list(workspace.archives.verify(archive))
    problems = [problem for day in days for problem in day.problems]
    if as_json:
        emit_json({"whole": not problems, "days": [vars(day) for day in days]})
        return int(bool(problems))
    rows = [
        (day.day, day.parts, day.traces, f"{day.bytes / 1e6:.2f}", "damaged" if day.problems else "whole")
        for day in days
    ]
    table(f"{len(days)} days", ("day", "files", "traces", "MB", "state"), rows, numbers=("files", "traces", "MB"))
    for problem in problems:
        echo(problem, err=True)
    return int(bool(problems))
