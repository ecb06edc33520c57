"""Open the workspace that the settings of a call name, as most verbs do first."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from evergold.settings import Settings, load_settings
from evergold.workspace import Workspace

LAST_SECONDS = 1.0  # for the transaction under way, after Ctrl-C


def settings_of(ctx: click.Context, **flags: Any) -> Settings:
    """File, then environment, then the flags of this call."""
    return load_settings({**ctx.find_root().obj, **flags})


@contextmanager
def without_database(ctx: click.Context) -> Iterator[Workspace]:
    """The workspace for verbs on files; its database is opened only if a facade needs it."""
    with Workspace(settings_of(ctx)) as workspace:
        yield workspace


@contextmanager
def opened(ctx: click.Context, **flags: Any) -> Iterator[Workspace]:
    with Workspace.open(settings_of(ctx, **flags)) as workspace:
        try:
            yield workspace
        except KeyboardInterrupt:
            # What waits for the database, perhaps for minutes, is given up; what is committed stays.
            workspace.store.db.close_within(LAST_SECONDS)
            raise
