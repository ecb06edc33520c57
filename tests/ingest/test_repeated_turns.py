"""A session whose every turn sends the whole conversation again is stored once, and each turn comes back as it was sent."""

import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select, text

from evergold.ingest.batcher import SpansWritten
from evergold.settings import Settings
from evergold.sources.spans import Wire
from evergold.store import Store
from evergold.store.schema import spans as spans_table
from evergold.store.trace.compact import RecentSpans
from evergold.store.trace.filter import TraceFilter
from evergold.store.trace.retention import erase_user, prune_batch
from evergold.workspace import Workspace
from tests.otlp import NOON, an_llm_span, protobuf_body

TURNS = 8
DAY = 86_400 * 10**9


def said(turn: int, who: str) -> str:
    return f"{who} {turn} says: " + f"word{turn} is like no other {who} " * 30


def trace_id(turn: int) -> str:
    return f"{turn + 1:032x}"


def sent(turn: int, user: str = "ann") -> Any:
    history = [{"role": "system", "content": "Be kind to everybody. " * 40}]
    for earlier in range(turn):
        history += [{"role": "user", "content": said(earlier, "user")}]
        history += [{"role": "assistant", "content": said(earlier, "model")}]
    history.append({"role": "user", "content": said(turn, "user")})
    answer = [{"role": "assistant", "content": said(turn, "model"), "finish_reason": "stop"}]
    attributes = {
        "gen_ai.conversation.id": "s1",
        "user.id": user,
        "gen_ai.input.messages": json.dumps(history),
        "gen_ai.output.messages": json.dumps(answer),
    }
    return an_llm_span(turn, trace=trace_id(turn), attributes=attributes, start=NOON + turn * DAY)


def send(workspace: Workspace, *spans: Any) -> SpansWritten:
    return workspace.intake.receive_traces(protobuf_body(*spans), Wire.PROTOBUF).result()


def carried(span: Any) -> dict[str, Any]:
    return {pair.key: pair.value.string_value or pair.value.int_value for pair in span.attributes}


def read(workspace: Workspace, turn: int) -> dict[str, Any]:
    (span,) = workspace.intake.get(trace_id(turn)).spans
    found: dict[str, Any] = span.metadata["attributes"]
    return found


def stored(workspace: Workspace) -> tuple[int, int]:
    """Characters of what the spans carried, and how many of them name a base."""
    with workspace.store.db.read() as connection:
        row = connection.execute(select(func.sum(func.length(spans_table.c.raw)), func.count(spans_table.c.base_seq)))
        size, based = row.one()
        return int(size), int(based)


@pytest.fixture
def workspace(settings: Settings, store: Store) -> Workspace:
    return Workspace(settings, store)


@pytest.mark.parametrize("together", [False, True])
def test_a_session_is_stored_once_and_every_turn_comes_back(workspace: Workspace, together: bool) -> None:
    turns = [sent(turn) for turn in range(TURNS)]
    for some in [turns] if together else [[one] for one in turns]:
        send(workspace, *some)
    for turn, span in enumerate(turns):
        assert read(workspace, turn) == carried(span)
    size, based = stored(workspace)
    assert based == TURNS - 1
    assert size < 2500 + 600 * TURNS
    found, _ = workspace.intake.page(TraceFilter(search="word3"), limit=10)
    assert [trace.id for trace in found] == [trace_id(3)]


def test_a_repeated_turn_that_is_sent_again_is_a_duplicate_and_other_content_is_refused(workspace: Workspace) -> None:
    for turn in range(3):
        send(workspace, sent(turn))
    assert send(workspace, sent(2)).duplicates == 1
    other = sent(2)
    other.attributes[0].value.string_value = "text_completion"
    assert "known with other content" in send(workspace, other).refused[0]


def test_what_stays_is_whole_when_its_base_is_pruned(workspace: Workspace) -> None:
    for turn in range(TURNS):
        send(workspace, sent(turn))
    assert workspace.store.db.write(lambda connection: prune_batch(connection, "2026-01-04T12:00:00Z"))[0] == 4
    for turn in range(4, TURNS):
        assert read(workspace, turn) == carried(sent(turn))
    assert stored(workspace)[1] == TURNS - 5
    send(workspace, sent(TURNS - 1), sent(TURNS))  # the next turn builds on what is left
    assert read(workspace, TURNS) == carried(sent(TURNS))


def test_a_turn_after_its_base_was_deleted_is_stored_in_full(workspace: Workspace) -> None:
    send(workspace, sent(0))
    workspace.store.db.write(lambda connection: prune_batch(connection, "2027-01-01T00:00:00Z"))
    send(workspace, sent(1))
    assert read(workspace, 1) == carried(sent(1))
    assert stored(workspace)[1] == 0


def test_erasing_one_of_two_users_of_a_session_keeps_what_the_other_sent(workspace: Workspace) -> None:
    for turn in range(4):
        send(workspace, sent(turn, user="ann" if turn % 2 == 0 else "bob"))
    erased = workspace.store.db.write(lambda connection: erase_user(connection, "ann", "me", "asked"))
    assert erased.traces == 2
    for turn in (1, 3):
        assert read(workspace, turn) == carried(sent(turn, user="bob"))
    with workspace.store.db.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM spans WHERE base_seq IS NOT NULL")).scalar_one() == 0


def test_what_was_never_committed_is_no_base(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    send(workspace, sent(0))
    recent = workspace.intake._batcher._recent
    remembered = RecentSpans.shorten

    def fails(self: RecentSpans, *given: Any) -> Any:
        remembered(self, *given)
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(RecentSpans, "shorten", fails)
        assert "cannot be stored" in send(workspace, sent(1)).refused[0]
    assert not recent._by_key
    send(workspace, sent(2), sent(3))
    assert read(workspace, 3) == carried(sent(3))


def test_a_restored_backup_gives_back_every_turn(settings: Settings, tmp_path: Path) -> None:
    with Workspace.open(settings) as workspace:
        for turn in range(TURNS):
            send(workspace, sent(turn))
        before = [read(workspace, turn) for turn in range(TURNS)]
        workspace.backups.write(tmp_path / "backup.zip")
    elsewhere = Settings(home=tmp_path / "elsewhere")
    Workspace(elsewhere).backups.restore(tmp_path / "backup.zip")
    with Workspace.open(elsewhere) as restored:
        assert [read(restored, turn) for turn in range(TURNS)] == before


def test_an_archived_session_comes_back_day_by_day(settings: Settings, tmp_path: Path) -> None:
    """Each turn builds on the day before; the archive holds every one whole."""
    with Workspace.open(settings) as workspace:
        for turn in range(TURNS):
            send(workspace, sent(turn))
        assert workspace.archives.move("1d", tmp_path / "archive").traces == TURNS
        for day in sorted((path.name for path in (tmp_path / "archive").iterdir()), reverse=True):
            assert workspace.archives.restore(day.removeprefix("day="), tmp_path / "archive") == 1
        assert [read(workspace, turn) for turn in range(TURNS)] == [carried(sent(turn)) for turn in range(TURNS)]
        written = set((tmp_path / "archive").rglob("*.parquet"))
        assert workspace.archives.move("1d", tmp_path / "archive").traces == TURNS
        assert set((tmp_path / "archive").rglob("*.parquet")) == written  # the same again is not written twice
