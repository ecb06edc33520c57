"""`evergold plugins`: what is installed behind every seam."""

import click

from evergold import plugins
from evergold.cli.output import emit_json, json_flag, table


@click.command()
@json_flag
def command(as_json: bool) -> None:
    """List the plug-ins of every seam, the built-in ones included."""
    results = {group: plugins.names(group) for group in plugins.GROUPS}
    if as_json:
        emit_json(results)
    else:
        table("plug-ins", ("seam", "names"), [(group, ", ".join(names) or "none") for group, names in results.items()])
