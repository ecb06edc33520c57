"""Sentences that can be quoted, the door of a generation with a writer that quotes, and copies that are refused."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.errors import Incomplete
from evergold.generate.documents import read_corpus
from evergold.generate.extractive import ExtractiveWriter
from evergold.generate.maker import REPEATED, Maker, Outcome, Outputs, _Copies, _in_order, generate
from evergold.generate.model_writer import BUILT_IN, Spent
from evergold.generate.passages import Library, WordSearch, clear_sentences, flatten
from evergold.generate.spec import GenerationSpec
from tests.rows import each_row


@each_row(
    ("text", "clear"),
    [
        ("The ferry leaves the old pier at nine.", True),
        ("Too short here.", False),
        ("This depends on what was said before it.", False),
        ("the ferry leaves the old pier at nine.", False),
        ("The ferry leaves the old pier at nine", False),
        ("The ferry leaves the old pier [2] at nine.", False),
        ("See https://example.org for more about the ferry.", False),
        ("Set x = 5 in the file of settings first.", False),
        ("1 2 3 4 5 6 7 8 9 10 11 12 apples.", False),
        ("Word " * 46 + "end.", False),
    ],
)
def test_a_sentence_is_clear_by_itself_or_not(text: str, clear: bool) -> None:
    assert bool(clear_sentences(text)) is clear


def test_a_text_on_one_line_without_its_marks() -> None:
    assert flatten("Worn **boots** can be re-\nturned, see [the rules](r.md) and ![a picture](p.png).") == (
        "Worn boots can be returned, see the rules and a picture."
    )


@given(st.text(max_size=120))
def test_any_text_is_cut_without_an_exception(text: str) -> None:
    assert all(clear_sentences(text))


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=8), st.integers(1, 4))
def test_results_come_in_the_order_of_the_work_however_long_each_takes(waits: list[int], window: int) -> None:
    under_way: list[int] = []
    most = [0]

    async def one(number: int, turns: int) -> list[Any]:
        under_way.append(number)
        most[0] = max(most[0], len(under_way))
        for _ in range(turns):
            await asyncio.sleep(0)
        under_way.remove(number)
        return [number]

    async def run() -> list[Any]:
        work = (one(number, turns) for number, turns in enumerate(waits))
        return [result async for results in _in_order(work, window) for result in results]

    assert asyncio.run(run()) == list(range(len(waits))) and most[0] <= window


def a_record(id: str, question: str, answer: str = "It leaves at nine [1].", kind: str = "qa") -> Outcome:
    return Outcome({"task_id": id, "task_type": kind, "instruction": question, "expected_response": answer})


def test_a_question_that_was_asked_is_refused_and_names_the_first() -> None:
    copies = _Copies(0.8)
    first = copies.refuse_copy(a_record("1", "When does the ferry leave the pier?"))
    again = copies.refuse_copy(a_record("2", "when does the FERRY leave the pier"))
    assert first.record is not None and again.record is None and again.reason == REPEATED
    assert again.refusal is not None and "1 asks nearly the same" in again.refusal["detail"]
    assert copies.refuse_copy(a_record("3", "Where do the boats wait?", "At the old pier [1].")).record is not None
    for _ in range(2):
        assert copies.refuse_copy(a_record("s", "Summarise it.", kind="summaries")).record is not None


def documents(folder: Path) -> Path:
    folder.mkdir()
    text = "# Ferry\n\nA ferry is a ship that carries people. The ferry leaves the old pier at 9 in the morning.\n"
    (folder / "a.md").write_text(text)
    (folder / "b.md").write_text(
        "# Pier\n\nThe pier is the place where ships land. Boats wait at the old pier for 20 minutes.\n"
    )
    (folder / "copy.md").write_text(text)
    return folder


def made(tmp_path: Path, **changes: Any) -> tuple[Any, list[dict[str, Any]], Outputs]:
    spec = GenerationSpec.model_validate(
        {"tasks": {"qa": 3, "summaries": 1}, "citations": {"support": "none"}, **changes}
    )
    corpus = read_corpus(documents(tmp_path / "docs"), spec)
    passages = corpus.passages
    maker = Maker(spec, ExtractiveWriter(), Library(passages, WordSearch(passages), 0), BUILT_IN, "gen-x")
    outputs = Outputs(tmp_path / "out.jsonl")
    report = asyncio.run(generate(corpus, maker, outputs, Spent()))
    return report, [json.loads(line) for line in outputs.dataset.read_bytes().splitlines()], outputs


def test_documents_become_records_a_report_and_what_was_refused(tmp_path: Path) -> None:
    report, records, outputs = made(tmp_path)
    assert report.documents == 2 and report.skipped[0].reason == "duplicate"
    assert sum(report.records.values()) == len(records) and report.records["summaries"] == 2
    assert json.loads(outputs.report.read_bytes())["run_id"] == "gen-x" and outputs.rejected.exists()
    assert all(record["rag"]["citations"] for record in records)


def test_a_limit_ends_the_generation_in_the_order_of_documents(tmp_path: Path) -> None:
    report, records, _ = made(tmp_path, limit=1)
    assert len(records) == sum(report.records.values()) == 1 and records[0]["metadata"]["document"] == "a.md"


def test_nothing_is_written_where_no_record_could_be_made(tmp_path: Path) -> None:
    spec = GenerationSpec.model_validate({"tasks": {"qa": 1, "summaries": 0}})
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("short\n")
    corpus = read_corpus(folder, spec)
    maker = Maker(spec, ExtractiveWriter(), Library(corpus.passages, WordSearch(corpus.passages), 0), BUILT_IN, "g")
    outputs = Outputs(tmp_path / "out.jsonl")
    with pytest.raises(Incomplete, match="no record could be made from 1 documents"):
        asyncio.run(generate(corpus, maker, outputs, Spent()))
    assert not outputs.dataset.exists() and not outputs.report.exists()


def test_files_lie_beside_the_dataset_under_its_name() -> None:
    outputs = Outputs(Path("/x/data.jsonl"))
    assert [path.name for path in (outputs.rejected, outputs.report, outputs.log)] == [
        "data.rejected.jsonl",
        "data.generation.json",
        "data.calls.jsonl",
    ]
