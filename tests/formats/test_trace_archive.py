"""Parts of a trace archive: records come back as they were, and a damaged part is named."""

from pathlib import Path
from typing import Any

import pytest

from evergold.errors import BadInput, NotFound
from evergold.formats.trace_archive import (
    SPAN,
    PartManifest,
    folder_of,
    list_days,
    list_parts,
    read_part,
    remove_part,
    require_whole,
    write_part,
)

A_SPAN = dict.fromkeys(SPAN) | {"id": "s", "raw": "{}"}
RECORDS: list[dict[str, Any]] = [
    {"id": "t1", "name": "chat", "tokens": 12, "cost": 0.5, "spans": [], "metadata": '{"é": 1}'},
    {"id": "t2", "name": "chat", "tokens": None, "cost": None, "spans": [A_SPAN, A_SPAN | {"id": "é"}], "metadata": ""},
]


def read(folder: Path, part: PartManifest, *columns: str) -> list[dict[str, Any]]:
    return [record for some in read_part(folder / part.file, columns or None) for record in some]


@pytest.mark.parametrize("records", [RECORDS, RECORDS[:1]])
def test_records_come_back_as_they_were_with_the_time_of_their_part(
    tmp_path: Path, records: list[dict[str, Any]]
) -> None:
    part = write_part(tmp_path, records)
    dated = [record | {"archived_at": part.created_at} for record in records]
    assert read(tmp_path, part) == dated
    assert read(tmp_path, part, "id") == [{"id": record["id"]} for record in records]
    assert (part.traces, part.bytes) == (len(records), (tmp_path / part.file).stat().st_size)
    require_whole(tmp_path, part)
    again = write_part(tmp_path, dated, part.created_at)
    assert (again.created_at, read(tmp_path, again)) == (part.created_at, dated)


def test_the_newest_part_comes_first_and_days_are_in_order(tmp_path: Path) -> None:
    for day in ("2026-01-02", "2026-01-01"):
        write_part(folder_of(tmp_path, day), RECORDS)
    newer = write_part(folder_of(tmp_path, "2026-01-01"), RECORDS)
    write_part(folder_of(tmp_path, "2026-01-01"), RECORDS, "2026-01-01T00:00:00.000000+00:00")
    assert list_days(tmp_path) == ["2026-01-01", "2026-01-02"]
    assert list_parts(folder_of(tmp_path, "2026-01-01"))[0] == newer


def test_a_part_is_there_only_while_its_manifest_is(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "2026-01-01")
    part = write_part(folder, RECORDS)
    (folder / part.file).with_suffix(".json").unlink()
    assert list_parts(folder) == [] and list_days(tmp_path) == []


def test_a_part_that_was_removed_is_gone_and_removing_it_again_is_fine(tmp_path: Path) -> None:
    part = write_part(tmp_path, RECORDS)
    remove_part(tmp_path, part)
    remove_part(tmp_path, part)
    assert list_parts(tmp_path) == [] and not (tmp_path / part.file).exists()


def test_damage_is_named(tmp_path: Path) -> None:
    part = write_part(tmp_path, RECORDS)
    path = tmp_path / part.file
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"x")
    with pytest.raises(BadInput, match="does not match its hash"):
        require_whole(tmp_path, part)
    path.write_bytes(data[:20])
    with pytest.raises(BadInput, match="is damaged"):
        read(tmp_path, part)
    path.unlink()
    with pytest.raises(NotFound, match="is missing, though its manifest is there"):
        require_whole(tmp_path, part)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", "is no manifest of a part"),
        ("nothing", "is no manifest of a part"),
        (
            '{"format": 4, "file": "a", "traces": 0, "bytes": 0, "sha256": "", "created_at": ""}',
            "has format 4, this program reads 1, 2, 3; upgrade evergold",
        ),
    ],
)
def test_a_manifest_that_cannot_be_used_is_named(text: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "part-x.json").write_text(text)
    with pytest.raises(BadInput, match=problem):
        list_parts(tmp_path)
