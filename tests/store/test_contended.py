"""Upkeep beside servers: what PostgreSQL undoes to end a deadlock is done again, and counted once."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from sqlalchemy import Connection, create_engine, text

from evergold.errors import Contended
from evergold.model.trace import Trace
from evergold.settings import Settings
from evergold.store.database.db import CONTENDED_TRIES
from evergold.workspace import Workspace
from tests.builders import a_score
from tests.patience import PATIENCE

OLD = "2026-01-05T10:00:00Z"
# What a sequence has given is not taken back with the transaction.
MEETING = (
    "CREATE SEQUENCE met",
    """CREATE FUNCTION meet() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF nextval('met') < {times} THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END IF; RETURN NULL;
    END $$""",
    "CREATE TRIGGER meeting AFTER INSERT OR DELETE ON {table} FOR EACH STATEMENT EXECUTE FUNCTION meet()",
)
Verb = Callable[[Workspace, Path], Any]


@pytest.fixture
def workspace(migrated_url: str, tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings(home=tmp_path / "home", database_url=migrated_url)) as opened:
        opened.intake.accept(
            [Trace(id=f"t{n}", user_id="ana", input="Q", output="A", started_at=OLD) for n in range(3)]
        )
        yield opened


def meet(workspace: Workspace, times: int, table: str = "traces") -> None:
    def work(connection: Connection) -> None:
        for statement in MEETING:
            connection.execute(text(statement.format(times=times, table=table)))

    workspace.store.db.write(work)


def archived(workspace: Workspace, folder: Path) -> int:
    return workspace.archives.move("1d", folder).traces


def pruned(workspace: Workspace, _: Path) -> int:
    return workspace.retention.prune("1d").deleted


def erased(workspace: Workspace, _: Path) -> int:
    return workspace.retention.erase("ana").traces


@pytest.mark.parametrize("verb", [archived, pruned, erased])
def test_what_was_undone_is_done_again(workspace: Workspace, tmp_path: Path, verb: Verb) -> None:
    meet(workspace, CONTENDED_TRIES)
    assert verb(workspace, tmp_path / "archive") == 3


def test_a_day_is_restored_beside_servers(workspace: Workspace, tmp_path: Path) -> None:
    assert archived(workspace, tmp_path / "archive") == 3
    meet(workspace, CONTENDED_TRIES)
    assert workspace.archives.restore(OLD[:10], tmp_path / "archive") == 3


def test_history_is_curated_again_beside_servers(workspace: Workspace) -> None:
    workspace.intake.accept([Trace(id="s", input="Q", output="A", started_at=OLD, scores=(a_score(),))])
    meet(workspace, CONTENDED_TRIES, table="eval_dataset")
    assert workspace.live.curation.backfill().by_kind == {"added": 1}


def test_a_deadlock_that_comes_again_and_again_is_an_error_that_loses_nothing(
    workspace: Workspace, tmp_path: Path
) -> None:
    meet(workspace, 100)
    with pytest.raises(Contended, match="several writers met"):
        archived(workspace, tmp_path / "archive")
    assert workspace.intake.get("t0").id == "t0"


def cite(workspace: Workspace, begun: Event) -> None:
    """Make a case of a trace as another server does: its transaction is open while the verb chooses what goes."""
    engine = create_engine(workspace.settings.database)
    with engine.begin() as connection:
        connection.execute(
            text("INSERT INTO eval_dataset (trace_id, entry_type, input_text) VALUES ('t0', 'golden', 'Q')")
        )
        begun.set()
        # The verb must wait for this transaction, or would delete what it cites.
        waiting = text("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
        until = time.monotonic() + PATIENCE
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as looking:
            while not looking.execute(waiting).scalar_one() and time.monotonic() < until:
                time.sleep(0.01)
    engine.dispose()


@pytest.mark.parametrize("verb", [archived, pruned])
def test_a_trace_that_another_server_makes_a_case_of_meanwhile_stays(
    workspace: Workspace, tmp_path: Path, verb: Verb
) -> None:
    begun = Event()
    other = Thread(target=cite, args=(workspace, begun))
    other.start()
    assert begun.wait(PATIENCE)
    assert verb(workspace, tmp_path / "archive") == 2
    other.join()
    assert workspace.intake.get("t0").id == "t0"
