"""`evergold traces prune` and `evergold traces erase`: forgetting by age, and forgetting one user."""

import click

from evergold.cli.opening import opened
from evergold.cli.output import echo, emit_json, json_flag


@click.command("prune")
@click.option("--older-than", required=True, metavar="AGE", help="Age as 90d, 12h or 2w.")
@click.option("--dry-run", is_flag=True, help="Count; delete nothing.")
@json_flag
@click.pass_context
def prune_command(ctx: click.Context, older_than: str, dry_run: bool, as_json: bool) -> None:
    """Delete old traces that no dataset entry cites."""
    with opened(ctx) as workspace:
        pruned = workspace.live.prune(older_than, dry_run=dry_run)
    if as_json:
        emit_json(vars(pruned) | {"dry_run": dry_run})
    else:
        verb = "would delete" if dry_run else "deleted"
        waited = f"; {verb} {pruned.waiting} records whose trace never came" if pruned.waiting else ""
        echo(f"{verb} {pruned.deleted} traces; kept {pruned.kept} that the dataset cites{waited}")


@click.command("erase")
@click.option("--user", required=True, metavar="USER", help="The user id the traces carry.")
@click.option("--who", default="cli", show_default=True, help="Who asks for it; stands in the tombstone.")
@click.option("--why", default="", help="Why; stands in the tombstone.")
@click.option("--dry-run", is_flag=True, help="Count traces, cases and archived traces; erase nothing.")
@json_flag
@click.pass_context
def erase_command(ctx: click.Context, user: str, who: str, why: str, dry_run: bool, as_json: bool) -> None:
    """Erase a user: their traces, the cases made from them, the copies runs and builds hold, what they said of other
    people's traces, and what of theirs waits in the spool.

    What remains is a tombstone with a hash of the user id and the counts. This cannot be undone.
    """
    with opened(ctx) as workspace:
        if dry_run:
            counted = workspace.live.would_erase(user)
            would = {"traces": counted.traces, "cases": counted.cases, "archived": counted.archived}
            if as_json:
                emit_json(would | {"dry_run": True})
            else:
                echo("would erase " + ", ".join(f"{count} {name}" for name, count in would.items()))
            return
        erased = workspace.live.erase(user, who=who, why=why)
    if as_json:
        emit_json(erased.counts())
    else:
        echo("erased " + ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in erased.counts().items()))
