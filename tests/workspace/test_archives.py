"""Old traces go into files by day with everything about them, come back the same, and are never lost on the way."""

import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from evergold.errors import BadInput, NotFound
from evergold.formats import trace_archive
from evergold.model.trace import Correction, Reaction, Retagging, Score, Span, Trace
from evergold.settings import Settings
from evergold.store.database.rows import loads
from evergold.store.facts import Portion
from evergold.store.trace.archive import BELONGING, Record, read_records
from evergold.store.trace.filter import TraceFilter
from evergold.upkeep import archives
from evergold.workspace import Workspace
from tests.builders import a_case

DAYS = ("2026-01-05", "2026-01-06")
OLD = Path(__file__).parent / "old_archives"


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
        opened.intake.retag(Retagging(trace_ids=[f"{DAYS[0]}-0"], add=["looked at"]), who="ana")
        opened.intake.comment(f"{DAYS[0]}-0", "strange", who="ana")
        yield opened


def everything(workspace: Workspace) -> list[Record]:
    with workspace.store.db.read() as connection:
        records = read_records(connection, [f"{day}-{number}" for day in DAYS for number in range(3)])
    return sorted(records, key=lambda record: str(record["id"]))


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
    with pytest.raises(NotFound, match="and `evergold traces restore DAY --from URL` brings an archived day back"):
        workspace.intake.get(shown.id)
    for day in DAYS:
        assert workspace.archives.restore(day, tmp_path / "archive") == 3
        assert workspace.archives.restore(day, tmp_path / "archive") == 0
    assert everything(workspace) == before
    assert workspace.intake.get(shown.id).model_dump(exclude={"scores"}) == shown.model_dump(exclude={"scores"})
    assert [trace.id for trace in workspace.intake.page(TraceFilter(search="Reply"), limit=9)[0]]


def test_any_engine_reads_the_files(workspace: Workspace, tmp_path: Path) -> None:
    """Texts are whole in every row, and the day is a column by the name of its folder."""
    import polars

    shown = [workspace.intake.get(f"{day}-0") for day in DAYS]
    workspace.archives.move("1d", tmp_path / "archive")
    traces = polars.read_parquet(tmp_path / "archive" / "*" / "*.parquet", hive_partitioning=True).sort("id")
    assert traces["day"].cast(str).unique().sort().to_list() == list(DAYS)
    assert traces["input_text"].to_list()[::3] == [trace.input for trace in shown]
    assert [loads(scores)[0]["value"] for scores in traces["trace_scores"]] == [1.0] * 6
    spans = traces.select("spans").explode("spans").unnest("spans")
    assert spans["input_text"].to_list()[::3] == [trace.spans[0].input for trace in shown]
    assert [loads(raw)["attributes"] for raw in spans["raw"]][::3] == [
        trace.spans[0].metadata["attributes"] for trace in shown
    ]


def test_a_large_day_is_written_in_parts(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = everything(workspace)
    monkeypatch.setattr(archives, "PART_CHARACTERS", 1000)
    assert workspace.archives.move("1d", tmp_path / "archive").traces == 6
    assert len(list((tmp_path / "archive" / f"day={DAYS[0]}").glob("*.parquet"))) == 2
    for day in DAYS:
        assert workspace.archives.restore(day, tmp_path / "archive") == 3
    assert everything(workspace) == before


@pytest.fixture
def old_archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """An archive that an earlier version wrote of the traces in `traces.jsonl` and `turns.otlp.jsonl`."""
    return shutil.copytree(OLD / request.param, tmp_path / "old")


def compared(trace: Trace) -> dict[str, Any]:
    """A trace without the moments at which its scores came, and without those that checks gave; spans in one order."""
    scores = sorted(
        (score.name, score.value, score.comment or "") for score in trace.scores if score.source != "system"
    )
    spans = sorted(trace.spans, key=lambda span: span.id)
    return trace.model_dump(exclude={"scores", "spans", "tags"}) | {"scores": scores, "spans": spans}


@pytest.mark.parametrize("old_archive", ["format-1", "format-2"], indirect=True)
def test_an_archive_of_an_earlier_version_comes_back(settings: Settings, old_archive: Path, tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path / "sent")) as sent, Workspace.open(settings) as workspace:
        assert [day.problems for day in workspace.archives.verify(old_archive)] == [[], []]
        assert [workspace.archives.restore(day, old_archive) for day in ("2026-01-02", "2026-01-01")] == [1, 4]
        sent.intake.ingest([OLD / "turns.otlp.jsonl", OLD / "traces.jsonl"])
        shown = [sent.intake.get(trace.id) for trace in sent.intake.page(TraceFilter(), limit=9)[0]]
        assert [compared(workspace.intake.get(trace.id)) for trace in shown] == list(map(compared, shown))
        assert workspace.intake.get("plain").tags == ("returns", "looked at")
        assert [note.text for note in workspace.intake.comments("plain")] == ["strange"]
        # What an earlier version holds in the same state is not written again.
        assert workspace.archives.move("1d", old_archive).traces == 5
        assert len(list(old_archive.rglob("*.parquet"))) == 2


@pytest.mark.parametrize("old_archive", ["format-1", "format-2"], indirect=True)
def test_a_user_is_erased_from_an_archive_of_an_earlier_version(settings: Settings, old_archive: Path) -> None:
    with Workspace.open(settings) as workspace:
        workspace.archives.remember(old_archive)
        assert workspace.retention.would_erase("ann").archived == 2
        assert workspace.retention.erase("ann").archived == 2
        assert not any(b"ann" in path.read_bytes() for path in old_archive.rglob("*.*"))
        assert [(day.traces, day.problems) for day in workspace.archives.verify(old_archive)] == [(3, [])]
        assert workspace.archives.restore("2026-01-01", old_archive) == 3
        assert workspace.intake.get("plain").user_id == "cem"
        (turn,) = (workspace.intake.get(one) for one in ids(workspace) - {"plain", "no spans"})
        assert "word0 is like no other user" in turn.spans[0].metadata["attributes"]["gen_ai.input.messages"]
        with workspace.store.db.read() as connection:
            (record,) = read_records(connection, ["plain"])
        assert loads(record["trace_corrections"]) == []
        assert {score["name"] for score in loads(record["trace_scores"])} >= {"rating", "faithful"}
        assert "user_reaction" not in record["trace_scores"]


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
    monkeypatch.setattr(archives, "Portion", partial(Portion, first=1))
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
    workspace.intake.comment(f"{DAYS[0]}-2", "later", who="ana")
    before = everything(workspace)
    workspace.archives.move("1d", archive)
    workspace.archives.restore(DAYS[0], archive)
    assert everything(workspace) == before
    assert [day.traces for day in workspace.archives.verify(archive)] == [4, 3]


def test_the_newest_state_counts_also_after_a_user_was_erased(workspace: Workspace, tmp_path: Path) -> None:
    """Both parts of the day are written anew; the older one must not become the newer one by that."""
    archive = tmp_path / "archive"
    workspace.archives.move("1d", archive)
    workspace.archives.restore(DAYS[0], archive)
    for number in (1, 2):
        workspace.intake.comment(f"{DAYS[0]}-{number}", "later", who="ana")
    workspace.archives.move("1d", archive)
    assert workspace.retention.erase("user2").archived == 3
    workspace.archives.restore(DAYS[0], archive)
    assert ids(workspace) == {f"{DAYS[0]}-0", f"{DAYS[0]}-1"}
    assert [note.text for note in workspace.intake.comments(f"{DAYS[0]}-1")] == ["later"]


@pytest.mark.parametrize("here", [True, False])
def test_a_trace_that_changes_between_writing_and_deleting_stays(
    workspace: Workspace, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: bool
) -> None:
    """Changed by this process or by another one, after its part was written: it stays, and the next call moves it."""
    whole = trace_archive.require_whole

    def changed_meanwhile(folder: Path, part: trace_archive.PartManifest) -> None:
        whole(folder, part)
        monkeypatch.setattr(trace_archive, "require_whole", whole)
        with nullcontext(workspace) if here else Workspace.open(settings) as other:
            other.intake.comment(f"{DAYS[0]}-2", "meanwhile", who="ana")

    monkeypatch.setattr(trace_archive, "require_whole", changed_meanwhile)
    done = workspace.archives.move("1d", tmp_path / "archive")
    assert (done.traces, done.kept, ids(workspace)) == (5, 1, {f"{DAYS[0]}-2"})
    assert workspace.archives.move("1d", tmp_path / "archive").traces == 1
    workspace.archives.restore(DAYS[0], tmp_path / "archive")
    assert [note.text for note in workspace.intake.comments(f"{DAYS[0]}-2")] == ["meanwhile"]


def test_an_archived_trace_leaves_nothing_that_names_it(workspace: Workspace, tmp_path: Path) -> None:
    def rows(connection: Connection) -> int:
        if connection.dialect.name == "sqlite":
            assert connection.execute(text("PRAGMA foreign_key_check")).all() == []
        return sum(
            connection.execute(text(f"SELECT count(*) FROM {name}")).scalar_one() for name in ("spans", *BELONGING)
        )

    assert workspace.store.db.write(rows) > 12
    workspace.archives.move("1d", tmp_path / "archive")
    assert workspace.store.db.write(rows) == 0


def test_erasing_a_user_reaches_the_archive(workspace: Workspace, tmp_path: Path) -> None:
    import polars

    archive = tmp_path / "archive"
    assert (workspace.retention.would_erase("user2").traces, workspace.retention.would_erase("nobody").traces) == (2, 0)
    workspace.archives.move("1d", archive)
    would = workspace.retention.would_erase("user2")
    assert (would.traces, would.cases, would.archived) == (0, 0, 2)
    assert workspace.retention.erase("user2").archived == 2
    assert set(polars.read_parquet(archive / "*" / "*.parquet")["user_id"]) == {"user0", "user1"}
    for day in DAYS:
        workspace.archives.restore(day, archive)
    records = {record["id"]: record for record in everything(workspace)}
    assert records[f"{DAYS[0]}-0"]["trace_corrections"] == "[]"
    assert [score["name"] for score in loads(records[f"{DAYS[0]}-1"]["trace_scores"])] == ["ok"]
    assert workspace.retention.erase("user2").archived == 0


def test_an_archive_that_is_gone_or_was_never_written_does_not_keep_a_user_from_being_erased(
    workspace: Workspace, tmp_path: Path
) -> None:
    assert workspace.archives.move("9999d", tmp_path / "never").days == 0
    workspace.archives.move("1d", tmp_path / "archive")
    assert workspace.archives.locations() == [str(tmp_path / "archive")]
    shutil.rmtree(tmp_path / "archive")
    assert workspace.retention.erase("user2").archived == 0


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
    assert "no manifest of a part" in next(workspace.archives.verify(archive)).problems[0]
    part.with_suffix(".json").unlink()
    with pytest.raises(NotFound, match=f"no day 2020-01-01 in the archive .* from {DAYS[1]} to {DAYS[1]}"):
        workspace.archives.restore("2020-01-01", archive)
    assert ids(workspace) == set()
    with pytest.raises(NotFound, match=r"no archive of traces at .*; `evergold traces archive` writes one"):
        list(workspace.archives.verify(tmp_path / "none"))
