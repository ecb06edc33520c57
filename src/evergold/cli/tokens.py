"""`evergold tokens`: who may call the server, and what they may do."""

import click

from evergold.cli.opening import opened
from evergold.cli.output import echo, emit_json, json_flag, table
from evergold.model.access import Role


@click.group()
def command() -> None:
    """Add, list and revoke tokens of the server. Once one was made, every caller needs a token."""


@command.command("add")
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice([role.value for role in Role]),
    required=True,
    help="owner: all; editor: all but tokens, erasure, settings; reviewer: read, decide; ingest: send; reader: read.",
)
@json_flag
@click.pass_context
def add_command(ctx: click.Context, name: str, role: str, as_json: bool) -> None:
    """Make a token for NAME and print it; it is stored nowhere and cannot be shown again."""
    with opened(ctx) as workspace:
        made = workspace.access.add(name, Role(role))
    if as_json:
        emit_json(made)
    else:
        echo(made.token)
        echo(f"{made.id}: {made.name}, {made.role}; keep the token, it is not shown again", err=True)


@command.command("list")
@json_flag
@click.pass_context
def list_command(ctx: click.Context, as_json: bool) -> None:
    """List tokens, oldest first, revoked ones too."""
    with opened(ctx) as workspace:
        tokens = workspace.access.list()
    if as_json:
        emit_json({"tokens": tokens})
        return
    rows = [(t.id, t.name, t.role, f"{t.created_at:%Y-%m-%d %H:%M}", "revoked" if t.revoked_at else "") for t in tokens]
    table(f"{len(tokens)} tokens", ("token", "name", "role", "made", ""), rows)


@command.command("revoke")
@click.argument("token_id")
@json_flag
@click.pass_context
def revoke_command(ctx: click.Context, token_id: str, as_json: bool) -> None:
    """Make the token with the id TOKEN_ID invalid. A running server notices within two seconds."""
    with opened(ctx) as workspace:
        revoked = workspace.access.revoke(token_id)
    if as_json:
        emit_json(revoked)
    else:
        echo(f"{revoked.id} ({revoked.name}) is revoked")


@command.command("forget-revoked")
@json_flag
@click.pass_context
def forget_command(ctx: click.Context, as_json: bool) -> None:
    """Delete revoked tokens from the list. Where no token is left, the server asks for none again."""
    with opened(ctx) as workspace:
        forgotten = workspace.access.forget_revoked()
        left = len(workspace.access.list())
    if as_json:
        emit_json({"forgotten": forgotten, "left": left})
    else:
        echo(f"forgot {forgotten} revoked tokens; {left} are left")
