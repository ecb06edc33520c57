"""Parquet files as lines: large rows are read a few at a time, and none is lost or changes its place."""

from collections.abc import Iterator
from io import BytesIO
from typing import Any

import orjson
import pytest

from evergold.formats import lines as parquet_lines
from evergold.formats.lines import arrow


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
    sizes: list[int] = []
    parts = parquet_lines._parts
    monkeypatch.setattr(parquet_lines, "AT_ONCE", at_once)

    def noted(table: Any) -> Iterator[Any]:
        for part in parts(table):
            sizes.append(part.num_rows)
            yield part

    monkeypatch.setattr(parquet_lines, "_parts", noted)
    rows = [orjson.loads(line) for line in parquet_lines.json_lines(table_of(["x" * 1000] * 250 + [None]), "f")]
    assert rows == [{"id": n, "input": "x" * 1000} for n in range(250)] + [{"id": 250}]
    # A single row is read however large it is.
    assert max(sizes) <= max(1, min(parquet_lines.BATCH, at_once // 900))
