"""Old traces go into files by day with everything about them, come back the same, and are never lost on the way."""

import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from evergold.errors import BadInput, NotFound
from evergold.formats import trace_archive
from evergold.model.trace import Correction, Reaction, Score, Span, Trace
from evergold.model.trace_notes import Retagging
from evergold.settings import Settings
from evergold.store.archiving import BELONGING, Record, records_of
from evergold.store.trace_filter import TraceFilter
from evergold.workspace import Workspace, archives
from tests.builders import a_case

DAYS = ("2026-01-05", "2026-01-06")


def a_day(day: str, count: int = 3) -> Iterator[Trace]:
    history = "The story so far. " * 40
    for number in range(count):
        attributes = {"gen_ai.input.messages": f"{history} turn {number}", "gen_ai.request.model": "m1"}
        span = Span(id="s", name="chat", kind="llm", input=f"Q{number}", metadata={"attributes": attributes})
        yield Trace(
            id=f"{day}-{number}",
            session_id=f"of {day}",
            user_id=f"user{number}",
            name="answer",
            input=f"Q{number}",
            output=f"Reply {number} of {day}",
            started_at=f"{day}T10:0{number}:00Z",
            tags=("app",),
            spans=(span,),
            scores=(Score(name="ok", value=1.0),),
        )


@pytest.fixture
def workspace(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as opened:
        for day in DAYS:
            opened.intake.accept(list(a_day(day)))
        opened.intake.accept(
            [
                Correction(trace_id=f"{DAYS[0]}-0", text="No, it is X", author="user2"),
                Reaction(trace_id=f"{DAYS[0]}-1", emoji="👍", author="user2"),
            ]
        )
        opened.trace_notes.retag(Retagging(trace_ids=[f"{DAYS[0]}-0"], add=["looked at"]), who="ana")
        opened.trace_notes.comment(f"{DAYS[0]}-0", "strange", who="ana")
        yield opened


def everything(workspace: Workspace) -> list[Record]:
    with workspace.store.db.read() as connection:
        return records_of(connection, [f"{day}-{number}" for day in DAYS for number in range(3)])


def ids(workspace: Workspace) -> set[str]:
    return {trace.id for trace in workspace.intake.page(TraceFilter(), limit=100)[0]}


def test_a_day_comes_back_as_it_was(workspace: Workspace, tmp_path: Path) -> None:
    before = everything(workspace)
    shown = workspace.intake.get(f"{DAYS[0]}-0")
    would = workspace.archives.would_move("1d")
    assert (would.days, would.traces, would.cited) == (2, 6, 0)
    assert not (tmp_path / "archive").exists()
    done = workspace.archives.move("1d", tmp_path / "archive")
    assert (done.days, done.traces, done.kept) == (2, 6, 0)
    assert ids(workspace) == set()
    with pytest.raises(NotFound, match="and --archive URL looks into an archive"):
        workspace.intake.get(shown.id)
    archived = workspace.archives.get(tmp_path / "archive", f"{DAYS[0]}-0")
    assert (archived.spans, archived.input, archived.tags) == (shown.spans, shown.input, shown.tags)
    for day in DAYS:
        assert workspace.archives.restore(day, tmp_path / "archive") == 3
        assert workspace.archives.restore(day, tmp_path / "archive") == 0
    assert everything(workspace) == before
    assert [trace.id for trace in workspace.intake.page(TraceFilter(search="Reply"), limit=9)[0]]


def test_a_large_day_is_written_in_parts_and_the_first_format_is_restored(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, shown = everything(workspace), workspace.intake.get(f"{DAYS[0]}-0")
    monkeypatch.setattr(archives, "BATCH", 1)
    monkeypatch.setattr(archives, "PART_CHARACTERS", 1000)
    assert workspace.archives.move("1d", tmp_path / "archive").traces == 6
    day = tmp_path / "archive" / f"day={DAYS[0]}"
    assert len(list(day.glob("*.parquet"))) == 2
    # Spans of the first format: as JSON text, with their own texts and attributes.
    old = [record for record in before if record["id"].startswith(DAYS[0])]
    for record in old:
        record["spans"] = [
            {name: value for name, value in span.items() if name != "shared"} for span in record["spans"]
        ]
    shutil.rmtree(day)
    trace_archive.write_part(day, [{name: [record[name] for record in old] for name in old[0]}])
    assert workspace.archives.get(tmp_path / "archive", shown.id).spans == shown.spans
    assert workspace.archives.restore(DAYS[0], tmp_path / "archive") == 3
    assert workspace.intake.get(shown.id).spans == shown.spans


def test_what_a_dataset_cites_stays(workspace: Workspace, tmp_path: Path) -> None:
    cited = f"{DAYS[0]}-1"
    workspace.cases.put([a_case("c", dataset="live", provenance={"trace_id": cited})])
    done = workspace.archives.move("1d", tmp_path / "archive")
    assert (ids(workspace), done.traces, done.cited) == ({cited}, 5, 1)


class Killed(BaseException):
    pass


@pytest.mark.parametrize("batches", [0, 1, 2])
def test_a_call_that_is_cut_short_is_finished_by_the_next(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batches: int
) -> None:
    """Cut after so many batches were deleted: every trace is in the workspace, in the archive or in both, once."""
    monkeypatch.setattr(archives, "BATCH", 1)
    before, left = everything(workspace), batches

    def progress(_: int) -> None:
        nonlocal left
        if not left:
            raise Killed
        left -= 1

    with pytest.raises(Killed):
        workspace.archives.move("1d", tmp_path / "archive", progress)
    workspace.archives.move("1d", tmp_path / "archive")
    assert ids(workspace) == set()
    assert len(list((tmp_path / "archive").rglob("*.parquet"))) == 2
    for day in DAYS:
        assert workspace.archives.restore(day, tmp_path / "archive") == 3
    assert everything(workspace) == before


def test_a_trace_that_changed_after_it_was_archived_stays_and_its_newest_state_counts(
    workspace: Workspace, tmp_path: Path
) -> None:
    archive = tmp_path / "archive"
    workspace.archives.move("1d", archive)
    workspace.archives.restore(DAYS[0], archive)
    workspace.trace_notes.comment(f"{DAYS[0]}-2", "later", who="ana")
    before = everything(workspace)
    workspace.archives.move("1d", archive)
    workspace.archives.restore(DAYS[0], archive)
    assert everything(workspace) == before
    assert len(workspace.archives.search(archive, TraceFilter(), 100)) == 6


@pytest.mark.parametrize("here", [True, False])
def test_a_trace_that_changes_between_writing_and_deleting_stays(
    workspace: Workspace, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: bool
) -> None:
    """Changed by this process or by another one, after its part was written: it stays, and the next call moves it."""
    whole = trace_archive.require_whole

    def changed_meanwhile(folder: Path, part: trace_archive.ArchivePartList) -> None:
        whole(folder, part)
        monkeypatch.setattr(trace_archive, "require_whole", whole)
        with nullcontext(workspace) if here else Workspace.open(settings) as other:
            other.trace_notes.comment(f"{DAYS[0]}-2", "meanwhile", who="ana")

    monkeypatch.setattr(trace_archive, "require_whole", changed_meanwhile)
    done = workspace.archives.move("1d", tmp_path / "archive")
    assert (done.traces, done.kept, ids(workspace)) == (5, 1, {f"{DAYS[0]}-2"})
    assert workspace.archives.move("1d", tmp_path / "archive").traces == 1
    workspace.archives.restore(DAYS[0], tmp_path / "archive")
    assert [note.text for note in workspace.trace_notes.comments(f"{DAYS[0]}-2")] == ["meanwhile"]


def test_an_archived_trace_leaves_nothing_that_names_it(workspace: Workspace, tmp_path: Path) -> None:
    def rows(connection: Connection) -> int:
        if connection.dialect.name == "sqlite":
            # Keys were not followed while traces were deleted, and are again.
            assert connection.execute(text("PRAGMA foreign_key_check")).all() == []
            assert connection.execute(text("PRAGMA foreign_keys")).scalar_one() == 1
        return sum(
            connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in ("spans", *BELONGING)
        )

    assert workspace.store.db.write(rows) > 12
    workspace.archives.move("1d", tmp_path / "archive")
    assert workspace.store.db.write(rows) == 0


def test_an_archive_is_searched_where_it_is(workspace: Workspace, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    workspace.archives.move("1d", archive)

    def found(**wanted: str) -> list[str]:
        return [trace.id for trace in workspace.archives.search(archive, TraceFilter.model_validate(wanted), 2)]

    assert found(search="reply 1") == [f"{DAYS[1]}-1", f"{DAYS[0]}-1"]
    assert found(user_id="user2", until=DAYS[1]) == [f"{DAYS[0]}-2"]
    assert found(search="nowhere") == []
    assert found(name="answer", session_id=f"of {DAYS[0]}", since=DAYS[0]) == [f"{DAYS[0]}-2", f"{DAYS[0]}-1"]
    with pytest.raises(NotFound, match="no trace 'x'"):
        workspace.archives.get(archive, "x")
    with pytest.raises(NotFound, match="no archive of traces"):
        workspace.archives.search(tmp_path / "none", TraceFilter(), 1)


def test_erasing_a_user_reaches_the_archive(workspace: Workspace, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    assert (workspace.live.would_erase("user2").traces, workspace.live.would_erase("nobody").traces) == (2, 0)
    workspace.archives.move("1d", archive)
    would = workspace.live.would_erase("user2")
    assert (would.traces, would.cases, would.archived) == (0, 0, 2)
    assert workspace.live.erase("user2").archived == 2
    assert {trace.user_id for trace in workspace.archives.search(archive, TraceFilter(), 100)} == {"user0", "user1"}
    for day in DAYS:
        workspace.archives.restore(day, archive)
    records = {record["id"]: record for record in everything(workspace)}
    assert records[f"{DAYS[0]}-0"]["trace_corrections"] == []
    assert [score["name"] for score in records[f"{DAYS[0]}-1"]["trace_scores"]] == ["ok"]
    assert workspace.live.erase("user2").archived == 0


def test_an_archive_that_is_gone_or_was_never_written_does_not_keep_a_user_from_being_erased(
    workspace: Workspace, tmp_path: Path
) -> None:
    assert workspace.archives.move("9999d", tmp_path / "never").days == 0
    workspace.archives.move("1d", tmp_path / "archive")
    assert workspace.archives.locations() == [str(tmp_path / "archive")]
    shutil.rmtree(tmp_path / "archive")
    assert workspace.live.erase("user2").archived == 0


def test_a_damaged_archive_brings_nothing_back(workspace: Workspace, tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    workspace.archives.move("1d", archive)
    part = next((archive / f"day={DAYS[0]}").glob("*.parquet"))
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 1
    part.write_bytes(data)
    with pytest.raises(BadInput, match="does not match its hash"):
        workspace.archives.restore(DAYS[0], archive)
    damaged, whole = workspace.archives.verify(archive)
    assert (damaged.day, damaged.traces, whole.day, whole.problems) == (DAYS[0], 3, DAYS[1], [])
    assert [problem.endswith("does not match its hash; use another copy of it") for problem in damaged.problems] == [
        True
    ]
    part.unlink()
    assert "is missing" in next(workspace.archives.verify(archive)).problems[0]
    part.with_suffix(".json").write_text("{}")
    assert "no list of a part" in next(workspace.archives.verify(archive)).problems[0]
    part.with_suffix(".json").unlink()
    with pytest.raises(NotFound, match=f"no day 2020-01-01 in the archive .* from {DAYS[1]} to {DAYS[1]}"):
        workspace.archives.restore("2020-01-01", archive)
    assert ids(workspace) == set()
