"""Files of cases as other tools write them, through the verb behind `evergold import` and the page."""

import json
from pathlib import Path
from typing import Any

import pytest

from evergold.errors import BadInput
from evergold.model.case import Case, EntryType
from evergold.model.faults import Rejected
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.store.case.writes import PutResult
from evergold.workspace import Workspace
from tests.rows import each_row

ROWS = "question{0}answer\n¿Qué tal, hoy?{0}Señor\n"
TALK = [{"from": "human", "value": "Hi?"}, {"from": "gpt", "value": "Hello."}]
ASKED, RIGHT = {"role": "user", "content": "Hi?"}, {"role": "assistant", "content": "Hello."}
WRONG = {"role": "assistant", "content": "No."}


def imported(folder: Path, content: bytes, name: str = "cases.jsonl") -> tuple[PutResult, list[Rejected], list[Case]]:
    """Import a file into a new workspace; gives what became of it, what was said, and the cases."""
    home = folder / str(len(list(folder.iterdir())))
    home.mkdir()
    (home / name).write_bytes(content)
    workspace = Workspace.open(Settings(home=home))
    try:
        result, rejected = workspace.cases.import_file(home / name, dataset="d")
        return result, rejected, list(workspace.cases.page(CaseFilter(dataset="d"))[0])
    finally:
        workspace.close()


def as_lines(*records: Any) -> bytes:
    return b"".join(json.dumps(record, ensure_ascii=False).encode() + b"\n" for record in records)


@each_row(
    "content",
    [
        ROWS.format(";").encode(),
        ROWS.format("\t").encode("utf-16"),
        b"sep=;\r\n" + ROWS.replace("\n", "\r\n").format(";").encode("cp1252"),
        as_lines({"question": "¿Qué tal, hoy?", "answer": "Señor"}).decode().encode("latin-1"),
    ],
)
def test_any_usual_encoding_and_table_is_read(content: bytes, tmp_path: Path) -> None:
    result, rejected, (case,) = imported(tmp_path, content)
    assert (case.input, case.expected) == ("¿Qué tal, hoy?", "Señor") and result.added == 1
    is_utf8 = content.startswith(b"question;")
    assert [one.is_note for one in rejected] == ([] if is_utf8 else [True])


@each_row(
    "record",
    [
        {"prompt": "Hi?", "completion": "Hello."},
        {"conversations": TALK, "source": "share"},
        {"messages": [ASKED, RIGHT], "prompt_id": "7"},
        {"prompt": "Hi?", "chosen": "Hello.", "rejected": "No."},
        {"prompt": "Hi?", "chosen": [ASKED, RIGHT], "rejected": [ASKED, WRONG], "score_chosen": 8},
        {"chosen": [ASKED, RIGHT], "rejected": [ASKED, WRONG]},
        {"prompt": [ASKED], "chosen": [RIGHT], "rejected": WRONG},
    ],
)
def test_rows_of_training_files_are_cases(record: dict[str, Any], tmp_path: Path) -> None:
    for content in (as_lines(record), json.dumps([record], indent=1).encode()):
        _, rejected, (case,) = imported(tmp_path, content)
        assert (case.input, case.reference_text(), rejected) == ("Hi?", "Hello.", [])
        pair = "chosen" in record
        assert (case.entry_type, case.output) == ((EntryType.CORRECTION, "No.") if pair else (EntryType.GOLDEN, None))
        beside = {name: record[name] for name in ("source", "prompt_id", "score_chosen") if name in record}
        assert case.extra == beside


def test_of_rows_with_one_id_none_replaces_another(tmp_path: Path) -> None:
    row = {"id": "1", "question": "Q?", "answer": "A"}
    result, said, cases = imported(tmp_path, as_lines(row, row | {"answer": "B"}, row, row | {"id": "2"}))
    assert {case.id: case.expected for case in cases} == {"1": "A", "2": "A"} and result.added == 2
    assert [(one.where, one.is_note) for one in said] == [
        ("cases.jsonl: record 2", False),
        ("cases.jsonl: record 3", True),
    ]
    assert "record 1 has '1' too, with other content; the first is kept" in said[0].reason


@each_row(
    ("content", "told"),
    [
        (b"", "the file is empty, so there is nothing to import"),
        (b"[]\n", "the file holds an empty list"),
        (b"PK\x03\x04\x00", "a zip archive or an office document"),
        (as_lines({"session_id": "s", "messages": [ASKED, RIGHT]}), "what was logged is traces: evergold ingest reads"),
        (
            as_lines({"topic": "x", "answer": "y"}),
            "with topic, answer; the nearest reader is parquet, which misses question",
        ),
        (b"Just a text.\n", "it looks like text; cases are JSON"),
    ],
)
def test_a_refused_file_is_described(content: bytes, told: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        imported(tmp_path, content)
    assert told in refused.value.message


def test_a_folder_without_a_card_is_named_as_one(tmp_path: Path) -> None:
    workspace = Workspace.open(Settings(home=tmp_path))
    with pytest.raises(BadInput, match="is a folder without a card"):
        workspace.cases.import_file(tmp_path)
    workspace.close()
