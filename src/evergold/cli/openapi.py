"""`evergold openapi`: the REST interface, for generators of clients."""

from importlib import import_module

import click

from evergold.cli.output import emit_json


@click.command()
def command() -> None:
    """Print the REST interface as OpenAPI JSON."""
    emit_json(import_module("evergold.api.app").interface())
