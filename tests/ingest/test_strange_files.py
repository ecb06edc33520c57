"""Files of traces as other programs write them: other encodings, other signs between columns, nothing at all."""

import codecs
import csv
import gzip
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import evergold
from evergold.errors import EvergoldError
from evergold.model.operations import IngestReport
from evergold.model.trace import Trace
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.rows import each_row

TRACE = {"id": "t1", "input": "¿Qué tal mañana?", "output": "Señor, sí."}
LINE = json.dumps(TRACE, ensure_ascii=False) + "\n"
CHAT = [{"role": "user", "content": "Since when?"}, {"role": "assistant", "content": "April."}]


def ingest(folder: Path, content: bytes, name: str = "traces.jsonl") -> tuple[IngestReport, list[Trace]]:
    """Store a file in a new workspace; gives the report and the traces by their ids."""
    home = folder / str(len(list(folder.iterdir())))
    home.mkdir()
    (home / name).write_bytes(content)
    with evergold.open(home) as ws:
        report, listed = ws.ingest(home / name), ws.traces()
    workspace = Workspace.open(Settings(home=home / ".evergold"))
    traces = [workspace.intake.get(one.id) for one in listed]
    workspace.close()
    return report, sorted(traces, key=lambda trace: trace.id)


@each_row(
    ("content", "told"),
    [
        (LINE.encode("cp1252"), "5 bytes are no UTF-8 and were read as Windows-1252"),
        (gzip.compress(LINE.encode("latin-1")), "read as Windows-1252"),
        (LINE.encode("utf-16"), "read as UTF-16"),
        (codecs.BOM_UTF16_BE + LINE.encode("utf-16-be"), "read as UTF-16"),
        (LINE.encode("utf-16-le"), "read as UTF-16-LE"),
        # Logs of two programs in one file, and a text as long as several reads.
        (
            (json.dumps({"id": "t0", "input": "ñ" * 100_000}, ensure_ascii=False) + "\n").encode()
            + LINE.encode("cp1252"),
            "5 b",
        ),
        (codecs.BOM_UTF8 + LINE.encode(), None),
    ],
)
def test_another_encoding_is_read_and_told(content: bytes, told: str | None, tmp_path: Path) -> None:
    report, traces = ingest(tmp_path, content)
    assert (traces[-1].input, traces[-1].output) == (TRACE["input"], TRACE["output"])
    assert report.rejected == 0 and (told or "") in "".join(report.problems) and bool(told) == bool(report.problems)


def test_a_broken_character_is_told(tmp_path: Path) -> None:
    report, (trace,) = ingest(tmp_path, LINE.encode().replace("ñ".encode(), b"\xc3"))
    assert "ma�ana" in trace.input and "Señor" not in (trace.output or "") and "2 bytes" in report.problems[0]


@each_row("encoding", ["cp1251", "gbk", "shift_jis"])
def test_letters_of_other_scripts_are_not_guessed(encoding: str, tmp_path: Path) -> None:
    text = {"cp1251": "Когда привезут заказ?", "gbk": "订单什么时候送到？", "shift_jis": "注文はいつ届きますか"}[
        encoding
    ]
    line = json.dumps({"id": "t1", "input": text}, ensure_ascii=False).encode(encoding)
    with pytest.raises(EvergoldError, match="neither UTF-8 nor Windows-1252"):
        ingest(tmp_path, line + b"\n")


def as_table(rows: list[dict[str, Any]], sign: str) -> bytes:
    out = StringIO()
    table = csv.DictWriter(out, list(rows[0]), delimiter=sign)
    table.writeheader()
    table.writerows(rows)
    return out.getvalue().encode()


@each_row("sign", [",", ";", "\t"])
def test_a_table_has_any_usual_sign_between_its_columns(sign: str, tmp_path: Path) -> None:
    _, (trace,) = ingest(tmp_path, as_table([TRACE], sign), "traces.csv")
    assert (trace.input, trace.output) == (TRACE["input"], TRACE["output"])
    rows = [{"id": "c1", "created_at": "2025-01-02T03:04:05Z", "messages": json.dumps(CHAT)}]
    _, (turn,) = ingest(tmp_path, as_table(rows, sign), "chats.csv")
    assert (turn.session_id, turn.input, turn.output) == ("c1", "Since when?", "April.")
    assert turn.started_at is not None and turn.started_at.year == 2025


def test_lines_may_end_as_those_of_old_macs(tmp_path: Path) -> None:
    for content in (as_table([TRACE], ";").replace(b"\r\n", b"\r"), LINE.encode().replace(b"\n", b"\r") * 2):
        _, (trace,) = ingest(tmp_path, content)
        assert (trace.input, trace.output) == (TRACE["input"], TRACE["output"])


def test_a_first_line_that_is_cut_costs_only_itself(tmp_path: Path) -> None:
    report, (trace,) = ingest(tmp_path, b'{"id": "t0", "inp\n' + LINE.encode())
    assert trace.id == "t1" and "jsonl:1: not JSON" in report.problems[0]


def test_a_row_with_more_cells_than_columns_is_named(tmp_path: Path) -> None:
    report, traces = ingest(tmp_path, b"sep=;\nid;input;output\nt1;Q;A\nt2;Q;A;more\n", "traces.csv")
    assert [trace.id for trace in traces] == ["t1"] and "csv:4: more cells than columns" in report.problems[0]


@each_row(
    ("content", "told"),
    [
        (b"PK\x03\x04\x14\x00\x00", "a zip archive"),
        (b"SQLite format 3\x00", "a database of SQLite"),
        (b"%PDF-1.7\n%\x00", "a PDF document"),
    ],
)
def test_a_file_of_another_kind_is_named(content: bytes, told: str, tmp_path: Path) -> None:
    with pytest.raises(EvergoldError, match=told):
        ingest(tmp_path, content)


def test_a_folder_is_named_as_one(tmp_path: Path) -> None:
    with evergold.open(tmp_path) as ws, pytest.raises(EvergoldError, match="is a folder; name its files"):
        ws.ingest(tmp_path)
