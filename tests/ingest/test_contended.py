"""A deadlock between two servers undoes one of them; what it wrote is written again, and no sender notices."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from evergold.errors import Contended
from evergold.settings import Settings
from evergold.sources.spans import Wire
from evergold.store.database.db import CONTENDED_TRIES
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace
from tests.faults.server import a_request
from tests.patience import PATIENCE

# What a sequence has given is not taken back with the transaction.
MEETING = """CREATE SEQUENCE met;
CREATE FUNCTION meet() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  IF nextval('met') < {times} THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01'; END IF; RETURN NULL;
END $$;
CREATE TRIGGER meeting AFTER INSERT ON traces FOR EACH STATEMENT EXECUTE FUNCTION meet()"""


@pytest.fixture
def workspace(migrated_url: str, tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings(home=tmp_path / "home", database_url=migrated_url)) as opened:
        yield opened


def meet(workspace: Workspace, times: int) -> None:
    def work(connection: Connection) -> None:
        for statement in MEETING.format(times=times).split(";\nCREATE "):
            connection.execute(text(statement if statement.startswith("CREATE") else f"CREATE {statement}"))

    workspace.store.db.write(work)


def stored(workspace: Workspace) -> int:
    with workspace.store.db.read() as connection:
        return int(connection.execute(text("SELECT count(*) FROM traces")).scalar_one())


def test_otlp_and_records_are_written_again(workspace: Workspace) -> None:
    meet(workspace, CONTENDED_TRIES)
    workspace.intake.receive_traces(a_request(["1" * 32]), Wire.JSON).result(PATIENCE)
    workspace.store.db.write(lambda connection: connection.execute(text("SELECT setval('met', 1, false)")).close())
    report = workspace.intake.accept([a_trace("t1", scores=(a_score(),))])
    assert (report.traces, report.scores) == (1, 1)
    assert stored(workspace) == 2


def test_a_meeting_that_does_not_end_is_said(workspace: Workspace) -> None:
    meet(workspace, 100)
    with pytest.raises(Contended, match="several writers met"):
        workspace.intake.receive_traces(a_request(["1" * 32]), Wire.JSON).result(PATIENCE)
    with pytest.raises(Contended, match="several writers met"):
        workspace.intake.accept([a_trace("t1")])
    assert stored(workspace) == 0
