"""`evergold settings`, `plugins` and `openapi`: what is set, what is installed, and what a server offers.

None of them opens the workspace, so none waits for the database layer to load.
"""

from importlib import import_module

import click

from evergold import plugins
from evergold.cli.options import json_flag, settings_of
from evergold.cli.output import emit_json, table
from evergold.settings import describe


@click.command()
@json_flag
@click.pass_context
def settings_command(ctx: click.Context, as_json: bool) -> None:
    """Print every setting, its value, where the value comes from, and what it does."""
    rows = describe(settings_of(ctx))
    if as_json:
        emit_json(rows)
    else:
        columns = ("name", "value", "origin", "env", "doc")
        table("settings", columns, [[row[name] for name in columns] for row in rows])


@click.command()
@json_flag
def plugins_command(as_json: bool) -> None:
    """List the plug-ins of every seam, the built-in ones included."""
    results = {group: plugins.names(group) for group in plugins.GROUPS}
    if as_json:
        emit_json(results)
    else:
        table("plug-ins", ("seam", "names"), [(group, ", ".join(names) or "none") for group, names in results.items()])


@click.command()
def openapi_command() -> None:
    """Print the REST interface as OpenAPI JSON."""
    emit_json(import_module("evergold.api.app").interface())
