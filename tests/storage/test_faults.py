"""A bucket that is not there, wrong or ending credentials, a lost connection: one line, nothing half-written."""

from pathlib import Path

import pytest

from evergold.errors import EvergoldError, NotFound, Unavailable
from evergold.formats.atomic import FileSet, write_bytes
from evergold.storage import location, open_read
from tests.cli.running import evergold
from tests.storage.conftest import BUCKET, ask, stored
from tests.storage.lossy_proxy import LossyProxy

PART = 50 << 20


def test_a_bucket_that_does_not_exist(s3: str, tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="s3://nowhere/x: The specified bucket does not exist"):
        write_bytes("s3://nowhere/x", b"x")
    done = evergold("ingest", "s3://nowhere/x.jsonl", cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert "s3://nowhere/x.jsonl" in done.err


def test_credentials_that_are_refused(s3: str, tmp_path: Path) -> None:
    location(f"s3://{BUCKET}/t.jsonl").write_text("{}")
    ask(s3, "/moto-api/reset-auth", b"0")
    with pytest.raises(Unavailable, match=f"s3://{BUCKET}/x: .*check the credentials"):
        write_bytes(f"s3://{BUCKET}/x", b"x")
    done = evergold("ingest", f"s3://{BUCKET}/t.jsonl", cwd=tmp_path)
    assert (done.code, done.err.count("\n")) == (2, 1), done.err
    assert "check the credentials" in done.err
    ask(s3, "/moto-api/reset-auth", b"1000")
    assert stored() == {"t.jsonl"}


@pytest.mark.parametrize("calls", [1, 2, 3])
def test_credentials_that_end_halfway_leave_nothing(s3: str, calls: int) -> None:
    """An upload of two parts takes four calls: begin, part, part, complete."""
    with pytest.raises(EvergoldError, match=f"s3://{BUCKET}/x") as caught, FileSet() as files:
        handle = files.open(f"s3://{BUCKET}/x")
        ask(s3, "/moto-api/reset-auth", str(calls).encode())
        handle.write(b"0" * (PART + 1))
        handle.write(b"0" * (PART + 1))
    assert "\n" not in caught.value.message
    ask(s3, "/moto-api/reset-auth", b"1000")
    assert stored() == set()


def test_a_connection_lost_while_writing_leaves_nothing(lossy: LossyProxy, s3: str) -> None:
    with pytest.raises(EvergoldError, match=f"s3://{BUCKET}/x"), FileSet() as files:
        handle = files.open(f"s3://{BUCKET}/x")
        lossy.cut_after(20 << 20)
        handle.write(b"0" * (PART + 1))
    lossy.restore()
    assert stored() == set()


def test_a_connection_lost_while_reading_is_no_end_of_file(lossy: LossyProxy) -> None:
    location(f"s3://{BUCKET}/x").write_bytes(b"line\n" * 4_000_000)
    lossy.cut_after(8 << 20)
    with pytest.raises(EvergoldError, match=f"s3://{BUCKET}/x"), open_read(location(f"s3://{BUCKET}/x")) as handle:
        handle.read()
