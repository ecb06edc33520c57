"""`evergold traces`: what came in, and forgetting it."""

import click

from evergold.cli.forgetting import erase_command, prune_command


@click.group()
def command() -> None:
    """Forget traces: by age, or everything of one user."""


command.add_command(prune_command)
command.add_command(erase_command)
