"""What those who run a workspace ask of it: whether the database answers and what waits, tokens, kept views of lists.

Tokens are 256 random bits, so a plain SHA-256 of one cannot be turned back. A server looks tokens up in a copy of the table that
is a second or two old: that long a revoked token may still work.

Whatever is not known closes the door: before the table was read nobody is let in, and a workspace whose tokens were all revoked
still needs one. Otherwise the holder of a revoked token would become the owner.
"""

import logging
import secrets
from collections import Counter
from functools import partial
from hashlib import sha256
from threading import Lock
from time import monotonic
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from evergold import plugins
from evergold.errors import BadInput, EvergoldError, NotFound
from evergold.model.access import AccessToken, Holder, NewToken, Role, TokenName
from evergold.model.faults import first_fault
from evergold.model.operations import Backlog, DatabaseStatus, PluginState
from evergold.settings import Settings
from evergold.store import Store, make_reader, make_writer
from evergold.store.case.reviews import drop_view, keep_view, kept_views
from evergold.store.database.engines import sqlite_file
from evergold.store.database.operations import backlog_of, require_answer, status_of
from evergold.store.facts import read_counters
from evergold.store.tokens import TokenStore

FRESH_SECONDS = 2.0
PREFIX = "evergold_"
_log = logging.getLogger("evergold.access")


class Operations:
    """What load balancers, monitoring and operators ask, and the views of lists that people keep under names."""

    def __init__(self, store: Store) -> None:
        self._store = store

    require_database = make_reader(require_answer)
    views = make_reader(kept_views)
    keep_view = make_writer(keep_view)
    delete_view = make_writer(drop_view)

    def backlog(self) -> Backlog | None:
        """What waits for curation, for the writer and for a worker; None while the database does not answer."""
        try:
            backlog = self._store.read(backlog_of)
        except EvergoldError:
            return None
        return backlog.model_copy(update={"writes": self._store.db.waiting})

    def status(self) -> DatabaseStatus:
        """Size, growth and age of the database."""
        return self._store.read(status_of, sqlite_file(self._store.db.url))

    def plugins(self, settings: Settings) -> list[PluginState]:
        """List the plug-ins of other packages, and any that could not be made or used."""
        return plugin_states(settings, self._store)


def plugin_states(settings: Settings, store: Store | None) -> list[PluginState]:
    """List the plug-ins of other packages, and any that could not be made or used, with how often calls failed."""
    foreign = {(group, name) for group in plugins.GROUPS for name in plugins.foreign_names(group)}
    for group, name in sorted(foreign):
        # Made as for use; those that need an address are only imported.
        needs_address = group in ("judges", "targets", "writers", "flow_sources")
        make = (
            partial(plugins.factory, group) if needs_address else partial(plugins.load_with, group, settings=settings)
        )
        plugins.load_all(group, [name], make)
    faults = plugins.faults()
    counted = Counter({key: number for key, (_, number) in faults.items()})
    for what, number in ({} if store is None else store.read(read_counters)).items():
        if what.startswith("checks.failed."):
            counted["checks", what.removeprefix("checks.failed.")] += number
        elif what.startswith("plugin_failed:"):
            kind, _, name = what.removeprefix("plugin_failed:").partition(" ")
            counted[f"{kind}s", name or settings.curation_detector.strip()] += number
    problems = {key: reason for key, (reason, _) in faults.items()}
    for what in plugins.hanging_plugins():
        kind, _, name = what.partition(" ")
        problems[f"{kind}s", name] = "a call did not return; it is left out until the next start"
    return [
        PluginState(
            group=key[0], name=key[1], package=plugins.package_of(*key), problem=problems.get(key), failed=counted[key]
        )
        for key in sorted(foreign | {key for key in problems if key[0] in plugins.GROUPS})
    ]


class Access:
    """Make, list and revoke tokens, and say who holds one."""

    def __init__(self, store: Store) -> None:
        self._tokens = TokenStore(store.db)
        self._holders: dict[str, Holder | None] | None = None
        self._read_at = float("-inf")
        self._reading = Lock()

    def add(self, name: str, role: Role) -> NewToken:
        """Make a token. It is in the answer and stored nowhere."""
        try:
            name = TypeAdapter(TokenName).validate_python(name)
        except ValidationError as problem:
            raise BadInput(f"a token's name cannot be {name!r}: {first_fault(problem)}") from problem
        # A prefix lets secret scanners recognise a token that was committed by accident.
        token = PREFIX + secrets.token_urlsafe(32)
        made = self._tokens.add(f"tok_{uuid4().hex[:10]}", name, role, _digest(token.encode()))
        # The own process sees its change at once; other servers when their copy is two seconds old.
        self._read_at = float("-inf")
        return NewToken(**made.model_dump(), token=token)

    def list(self) -> list[AccessToken]:
        return self._tokens.list()

    def revoke(self, ident: str) -> AccessToken:
        revoked = self._tokens.revoke(ident)
        if revoked is None:
            raise NotFound(f"no token {ident!r}; evergold tokens list shows them")
        self._read_at = float("-inf")
        return revoked

    def forget_revoked(self) -> int:
        """Delete revoked tokens from the list; with none left, a server without a token in its settings asks for none."""
        forgotten = self._tokens.forget_revoked()
        self._read_at = float("-inf")
        return forgotten

    @property
    def stale(self) -> bool:
        """Whether the copy of the table is to be read again."""
        return monotonic() - self._read_at > FRESH_SECONDS

    def refresh(self) -> None:
        """Read the table. While the database is away the last copy stays in use."""
        # The first readers wait for each other: none may go on without a copy.
        with self._reading:
            if not self.stale:
                return
            first = self._holders is None
            if not first:
                # Set before reading: while the database is away, requests must not all try to read at once.
                self._read_at = monotonic()
            try:
                self._holders = self._tokens.holders()
            except Exception as problem:
                _log.error("the tokens cannot be read, those known before stay valid: %s", problem)
            if first:
                self._read_at = monotonic()

    @property
    def known(self) -> bool:
        """Whether the table was read at all."""
        return self._holders is not None

    @property
    def required(self) -> bool:
        """Whether any token was ever made, be it revoked since: then every caller needs one."""
        return self._holders is None or bool(self._holders)

    def holder(self, token: bytes) -> Holder | None:
        """Say who holds a token, by the copy of the table."""
        return (self._holders or {}).get(_digest(token))


def _digest(token: bytes) -> str:
    return f"sha256:{sha256(token).hexdigest()}"
