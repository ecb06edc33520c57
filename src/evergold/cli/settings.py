"""`evergold settings`: every setting, its value and where it comes from."""

import click

from evergold.cli.opening import settings_of
from evergold.cli.output import emit_json, json_flag, table
from evergold.settings import describe


@click.command()
@json_flag
@click.pass_context
def command(ctx: click.Context, as_json: bool) -> None:
    """Print every setting, its value, where the value comes from, and what it does."""
    rows = describe(settings_of(ctx))
    if as_json:
        emit_json(rows)
    else:
        columns = ("name", "value", "origin", "env", "doc")
        table("settings", columns, [[row[name] for name in columns] for row in rows])
