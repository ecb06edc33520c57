"""The spool: records on the disk, one file per process, delivered when nobody writes them."""

from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evergold.sdk.delivery import Spool
from evergold.sdk.transports import encode_record
from tests.rows import each_row


def records(*ids: int) -> list[dict[str, Any]]:
    return [{"type": "trace", "id": str(number)} for number in ids]


def ripe(spool: Spool) -> list[tuple[list[str], int]]:
    return [([record["id"] for record in kept], torn) for kept, torn, _ in spool.list_ripe()]


def test_a_file_is_ripe_once_it_is_sealed(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", 1_000_000)
    assert spool.keep(records(1, 2)) == 2 and ripe(spool) == []
    spool.seal()
    assert ripe(spool) == [(["1", "2"], 0)]
    assert spool.keep(records(3)) == 1
    spool.seal()
    assert ripe(spool) == [(["1", "2"], 0), (["3"], 0)], "the oldest file first"


def test_files_that_follow_each_other_at_once_keep_their_order(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", 1_000_000)
    for number in range(10):
        spool.keep(records(number))
        spool.seal()
    assert ripe(spool) == [([str(number)], 0) for number in range(10)]


def test_only_the_owner_may_read_what_people_said(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", 1_000_000)
    spool.keep(records(1))
    (file,) = (tmp_path / "spool").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600 and file.parent.stat().st_mode & 0o777 == 0o700
    spool.seal()


def test_what_finds_no_room_is_not_kept(tmp_path: Path) -> None:
    line = len(b'{"type":"trace","id":"1"}\n')
    spool = Spool(tmp_path / "spool", 2 * line)
    assert spool.keep(records(1, 2, 3)) == 2
    assert spool.keep(records(4)) == 0 and spool.size() == 2 * line
    spool.seal()


def test_a_torn_line_is_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", 1_000_000)
    spool.keep(records(1))
    spool.seal()
    (file,) = (tmp_path / "spool").iterdir()
    file.write_bytes(file.read_bytes() + b'{"type": "tra')
    assert ripe(spool) == [(["1"], 1)]


def test_the_file_of_another_process_is_left_to_it(tmp_path: Path) -> None:
    writer, reader = Spool(tmp_path / "spool", 1_000_000), Spool(tmp_path / "spool", 1_000_000)
    writer.keep(records(1))
    assert ripe(reader) == []
    writer.seal()
    assert ripe(reader) == [(["1"], 0)]


def test_a_file_that_another_process_has_just_delivered_is_no_reason_to_drop_records(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "spool", 1_000_000)
    (tmp_path / "spool").mkdir()
    (tmp_path / "spool" / "0.jsonl").symlink_to(tmp_path / "gone")
    assert spool.size() == 0 and spool.keep(records(1)) == 1
    spool.seal()
    assert ripe(spool) == [(["1"], 0)]


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "none", 10)
    assert spool.size() == 0 and ripe(spool) == []


class Odd:
    def __repr__(self) -> str:
        raise RuntimeError("not even that")

    def __str__(self) -> str:
        raise RuntimeError("nor that")


@each_row(
    ("given_record", "expected"),
    [
        ({"started_at": 0.5}, {"started_at": "1970-01-01T00:00:00.500000Z"}),
        ({"started_at": "2026-01-01"}, {"started_at": "2026-01-01"}),
        ({"user_id": 7, "session_id": None}, {"user_id": "7", "session_id": None}),
        ({"name": None}, {"name": ""}),
        ({"tags": ("a", 5, None)}, {"tags": ["a", "5"]}),
        ({"tags": ()}, {"tags": []}),
        ({"metadata": {"n": 2**70}}, {"metadata": {"n": str(2**70)}}),
        ({"metadata": {"s": "\ud83d"}}, {"metadata": {"s": "?"}}),
        ({"metadata": {1: {2}}}, {"metadata": {"1": "{2}"}}),
        ({"spans": [{"name": 5, "kind": None, "ended_at": 1.0}]}, None),
    ],
)
def test_a_record_travels_as_plain_json(given_record: dict[str, Any], expected: dict[str, Any] | None) -> None:
    sent = encode_record("trace", given_record)
    assert sent.pop("type") == "trace"
    if expected is None:
        assert sent == {"spans": [{"name": "5", "kind": "", "ended_at": "1970-01-01T00:00:01Z"}]}
    else:
        assert sent == expected


def test_an_object_that_cannot_even_be_shown_costs_no_trace() -> None:
    sent = encode_record("trace", {"user_id": Odd(), "metadata": {"odd": Odd(), "deep": [[Odd()]]}})
    assert sent["user_id"] == "<Odd that cannot be shown>"
    assert sent["metadata"]["odd"] == sent["metadata"]["deep"][0][0] == "<Odd that cannot be shown>"


def test_a_value_that_holds_itself_ends_somewhere() -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    assert encode_record("trace", {"metadata": loop})["metadata"]["self"]


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=3) | st.complex_numbers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=8,
)


@given(ANY)
def test_whatever_the_app_puts_into_metadata_travels(value: Any) -> None:
    assert set(encode_record("trace", {"id": "t", "metadata": value})) == {"type", "id", "metadata"}
