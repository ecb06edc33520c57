"""The calls an app's own curation code makes, sync and async, and the SQL people write by hand."""

import asyncio
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from evergold.errors import NotFound
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace

KEYS = {"id", "trace_id", "entry_type", "input", "output", "expected_output", "metadata", "created_at", "tags"}


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings(home=tmp_path)) as opened:
        opened.intake.accept([a_trace("t1", scores=(a_score(value=0.9),)), a_trace("t2")])
        yield opened


def test_the_calls(ws: Workspace, tmp_path: Path) -> None:
    curated = ws.dataset.maybe_curate_to_dataset("t1")
    assert curated is not None and curated.metadata == {"confirmed": False}
    assert ws.dataset.maybe_curate_to_dataset("t2") is None
    pair = ws.dataset.add_correction_pair("t1", "Quito.")
    assert pair.id == ws.dataset.add_correction_pair("t1", "Quito.").id
    by_hand = ws.dataset.add_dataset_entry("t2", "golden", "in", "out", metadata={"why": "nice"}, tags=["audio"])
    assert ws.dataset.add_dataset_tags(by_hand.id, ["vip"]).tags == ("audio", "vip")
    assert [case.entry_type for case in ws.dataset.get_dataset_entries()] == ["golden", "correction", "failure"]
    assert [case.id for case in ws.dataset.get_dataset_entries(tag="vip")] == [by_hand.id]
    stats = ws.dataset.get_dataset_stats()
    assert (stats.golden, stats.failure, stats.correction) == (1, 1, 1)
    assert ws.dataset.export_to_jsonl(tmp_path / "all.jsonl", limit=2) == 2
    assert ws.dataset.export_to_jsonl(tmp_path / "golden.jsonl", "golden") == 1
    (line,) = (tmp_path / "golden.jsonl").read_text().splitlines()
    assert set(json.loads(line)) >= KEYS
    with pytest.raises(NotFound, match="no trace 'none'"):
        ws.dataset.add_correction_pair("none", "text")


def test_a_correction_that_is_redacted_is_the_pair_that_is_returned(ws: Workspace) -> None:
    ws.dataset.add_correction_pair("t1", "Ask somebody else.")
    first = ws.dataset.add_correction_pair("t1", "Write to jo@example.com.")
    ws.dataset.add_correction_pair("t1", "Ask nobody.")
    again = ws.dataset.add_correction_pair("t1", "Write to jo@example.com.")
    assert (first.id, first.expected) == (again.id, "Write to [EMAIL].")


def test_the_calls_follow_the_policy_that_replaces_the_built_in_one(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('name = "default"\ndataset = "mine"\n')
    settings = Settings(home=tmp_path, curation_policies=(str(tmp_path / "mine.toml"),))
    with Workspace.open(settings) as ws:
        ws.intake.accept([a_trace("t1", scores=(a_score(value=0.9),))])
        entry = ws.dataset.maybe_curate_to_dataset("t1")
        assert entry is not None
        ws.dataset.add_dataset_tags(entry.id, ["vip"])
        ws.dataset.add_dataset_entry("t1", "golden", "in", "out")
        assert {case.dataset for case in ws.dataset.get_dataset_entries()} == {"mine"}
        assert (ws.dataset.get_dataset_stats().golden, ws.dataset.export_to_jsonl(tmp_path / "out.jsonl")) == (2, 2)


def test_the_same_calls_awaited(ws: Workspace, tmp_path: Path) -> None:
    async def all_of_them() -> None:
        calls = ws.dataset_async
        assert await calls.maybe_curate_to_dataset("t1") is not None
        assert (await calls.add_correction_pair("t1", "Quito.")).expected == "Quito."
        entry = await calls.add_dataset_entry("t2", "failure", "in", tags=["x"])
        assert (await calls.add_dataset_tags(entry.id, ["y"])).tags == ("x", "y")
        assert len(await calls.get_dataset_entries("failure")) == 2
        assert (await calls.get_dataset_stats()).total == 3
        assert await calls.export_to_jsonl(tmp_path / "all.jsonl", None) == 3

    asyncio.run(all_of_them())


def test_manual_curation_by_sql_makes_a_whole_case(ws: Workspace, tmp_path: Path) -> None:
    """The statement as people have it in their notes, run by a plain SQLite client."""
    with sqlite3.connect(tmp_path / "evergold.db") as client:
        client.execute("PRAGMA foreign_keys=ON")
        client.execute(
            "INSERT INTO eval_dataset (trace_id, entry_type, input_text, output_text)\n"
            "   SELECT id, 'golden', input_text, output_text FROM traces WHERE id = 't1';"
        )
        (entry,) = client.execute("SELECT id FROM eval_dataset").fetchone()
        client.execute("INSERT INTO eval_dataset_tags (dataset_id, tag) VALUES (?, 'audio')", (entry,))
    client.close()
    (case,) = ws.dataset.get_dataset_entries("golden")
    assert (case.input, case.output, case.tags) == ("What is the capital of Peru?", "Lima.", ("audio",))
    assert case.provenance.trace_id == "t1" and case.metadata == {} and case.created_at is not None


def test_an_entry_of_a_trace_that_is_not_there_is_refused(ws: Workspace, tmp_path: Path) -> None:
    client = sqlite3.connect(tmp_path / "evergold.db")
    client.execute("PRAGMA foreign_keys=ON")
    with pytest.raises(sqlite3.IntegrityError, match="FOREIGN KEY"):
        client.execute("INSERT INTO eval_dataset (trace_id, entry_type, input_text) VALUES ('none', 'golden', 'x')")
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        client.execute("INSERT INTO eval_dataset (trace_id, entry_type, input_text) VALUES ('t1', 'silver', 'x')")
    client.close()
