"""Parts of a trace archive: rows come back as they were, and a damaged part is named."""

from pathlib import Path
from typing import Any

import pytest

from evergold.errors import BadInput, NotFound
from evergold.formats.trace_archive import (
    ArchivePartList,
    columns_of,
    days_in,
    folder_of,
    parts_of,
    read_part,
    record_of,
    remove_part,
    require_whole,
    write_part,
)

SPAN = {"id": "s", "input_text": None, "shared": 1}
ROWS: list[dict[str, Any]] = [
    {"id": "t1", "name": "chat", "tokens": 12, "cost": 0.5, "spans": [], "metadata": {"é": 1}},
    {"id": "t2", "name": "chat", "tokens": None, "cost": None, "spans": [SPAN, SPAN | {"id": "é"}], "metadata": {}},
]
LISTS = ("spans", "metadata")


def written(folder: Path, *batches: list[dict[str, Any]]) -> ArchivePartList:
    part = write_part(folder, [columns_of(batch, "spans", ("id", "input_text", "shared")) for batch in batches])
    assert part is not None
    return part


def rows_of(folder: Path, part: ArchivePartList, **options: Any) -> list[dict[str, Any]]:
    return [record_of(row, LISTS) for batch in read_part(folder / part.file, **options) for row in batch]


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    part = written(tmp_path, ROWS[:1], ROWS[1:])
    assert rows_of(tmp_path, part) == ROWS
    assert (part.traces, part.bytes) == (2, (tmp_path / part.file).stat().st_size)
    require_whole(tmp_path, part)


def test_lists_as_json_of_the_first_format_are_read(tmp_path: Path) -> None:
    part = write_part(tmp_path, [{name: [row[name] for row in ROWS] for name in ROWS[0]}])
    assert part is not None
    assert rows_of(tmp_path, part) == ROWS


def test_some_columns_and_some_rows_are_read_alone(tmp_path: Path) -> None:
    import pyarrow.compute

    part = written(tmp_path, ROWS)
    assert rows_of(tmp_path, part, columns=["id"]) == [{"id": "t1"}, {"id": "t2"}]
    only = rows_of(tmp_path, part, columns=["id"], keep=lambda batch: pyarrow.compute.equal(batch.column("id"), "t2"))
    assert only == [{"id": "t2"}]


def test_nothing_to_write_is_no_part(tmp_path: Path) -> None:
    assert write_part(tmp_path, []) is None
    assert list(tmp_path.iterdir()) == []


def test_the_newest_part_comes_first_and_days_are_in_order(tmp_path: Path) -> None:
    for day in ("2026-01-02", "2026-01-01"):
        written(folder_of(tmp_path, day), ROWS)
    newer = written(folder_of(tmp_path, "2026-01-01"), ROWS)
    assert days_in(tmp_path) == ["2026-01-01", "2026-01-02"]
    assert parts_of(folder_of(tmp_path, "2026-01-01"))[0] == newer


def test_a_part_is_there_only_while_its_list_is(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "2026-01-01")
    part = written(folder, ROWS)
    (folder / part.file).with_suffix(".json").unlink()
    assert parts_of(folder) == [] and days_in(tmp_path) == []


def test_a_part_that_was_removed_is_gone_and_removing_it_again_is_fine(tmp_path: Path) -> None:
    part = written(tmp_path, ROWS)
    remove_part(tmp_path, part)
    remove_part(tmp_path, part)
    assert parts_of(tmp_path) == [] and not (tmp_path / part.file).exists()


def test_damage_is_named(tmp_path: Path) -> None:
    part = written(tmp_path, ROWS)
    path = tmp_path / part.file
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"x")
    with pytest.raises(BadInput, match="does not match its hash"):
        require_whole(tmp_path, part)
    path.write_bytes(data[:20])
    with pytest.raises(BadInput, match="is damaged"):
        rows_of(tmp_path, part)
    path.unlink()
    with pytest.raises(NotFound, match="is missing, though its list is there"):
        require_whole(tmp_path, part)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", "is no list of a part"),
        ("nothing", "is no list of a part"),
        (
            '{"format": 3, "file": "a", "traces": 0, "bytes": 0, "json_bytes": 0, "sha256": "", "created_at": ""}',
            "has format 3, this program reads 1 and 2; upgrade evergold",
        ),
    ],
)
def test_a_list_that_cannot_be_used_is_named(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "part-x.json").write_text(text)
    with pytest.raises(BadInput, match=problem):
        parts_of(tmp_path)
