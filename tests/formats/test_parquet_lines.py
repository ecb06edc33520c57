"""Parquet files as lines: large rows are read a few at a time, and none is lost or changes its place."""

from io import BytesIO
from typing import Any

import orjson
import pytest

from evergold.errors import BadInput
from evergold.formats import tables
from evergold.formats.tables import arrow, json_lines


def table_of(texts: list[str | None]) -> BytesIO:
    pyarrow, parquet = arrow()
    packed = BytesIO()
    parquet.write_table(pyarrow.table({"id": list(range(len(texts))), "input": texts}), packed)
    packed.seek(0)
    return packed


@pytest.mark.parametrize("at_once", [1, 1000, 10_000, 1 << 20])
def test_rows_come_whole_and_in_order_however_few_are_read_at_once(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "AT_ONCE", at_once)
    monkeypatch.setattr(tables, "MOST_DENSE", 10_000)
    rows = [orjson.loads(line) for line in json_lines(table_of(["x" * 1000] * 250 + [None]), "f")]
    assert rows == [{"id": n, "input": "x" * 1000} for n in range(250)] + [{"id": 250}]
    # A single row is read however large it is.
    most = max(len(part) for part in tables.read_rows(table_of(["x" * 1000] * 250), "f"))
    assert most <= max(1, min(tables.BATCH, at_once // 900))


ENCODINGS = ("PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", None)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_tables_of_any_writer_are_read(encoding: str | None, version: str) -> None:
    pyarrow, parquet = arrow()
    texts = ["one", None, "x" * 5000, "ñandú", "one"] * 60
    rows = {
        "id": [str(number) for number in range(len(texts))],
        "input": texts,
        "large": pyarrow.array(texts, pyarrow.large_string()),
        "bytes": pyarrow.array(texts, pyarrow.binary()),
        "kind": pyarrow.array(texts).dictionary_encode(),
        "number": pyarrow.array(range(len(texts)), pyarrow.int16()),
        "at": pyarrow.array([1_700_000_000_123_456_789] * len(texts), pyarrow.timestamp("ns", "UTC")),
    }
    lists = {
        "texts": [[text, "a", None] if text else [] for text in texts],
        "vectors": pyarrow.array([[0.5, 1.5]] * len(texts), pyarrow.list_(pyarrow.float32(), 2)),
        "turns": [{"role": "user", "parts": [text, text]} for text in texts],
        "map": pyarrow.array([[("a", text)] for text in texts], pyarrow.map_(pyarrow.string(), pyarrow.string())),
    }
    table = pyarrow.table(rows | (lists if encoding in (None, "PLAIN") else {}))
    options: dict[str, Any] = {"use_dictionary": encoding is None, "data_page_version": version}
    if encoding:
        options["column_encoding"] = dict.fromkeys(["id", "input", "large", "bytes"], encoding)
    packed = BytesIO()
    parquet.write_table(table, packed, row_group_size=120, data_page_size=900, compression="zstd", **options)
    packed.seek(0)
    read = [orjson.loads(line) for line in json_lines(packed, "f")]
    assert [row["id"] for row in read] == [str(number) for number in range(len(texts))]
    for row, text in zip(read, texts, strict=True):
        assert [row.get(name) for name in ("input", "large", "bytes", "kind")] == [text] * 4
        assert row["at"].startswith("2023-11-14T22:13:20.123456")
        if encoding in (None, "PLAIN"):
            assert row["texts"] == ([text, "a", None] if text else []) and row["vectors"] == [0.5, 1.5]
            assert row["turns"] == {"role": "user", "parts": [text, text]} and row["map"] == [["a", text]]


def test_a_damaged_file_is_an_error_of_one_line() -> None:
    whole = table_of(["some text"] * 50).getvalue()
    for at in range(4, len(whole) - 8, 7):
        damaged = BytesIO(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            assert len(list(json_lines(damaged, "f"))) <= 50
        except BadInput as problem:
            assert str(problem).startswith("f: ") and "\n" not in str(problem)
