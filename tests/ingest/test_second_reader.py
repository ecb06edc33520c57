"""Requests read in a second process: as in the server itself, also when that process is killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import pytest

from evergold.errors import BadInput
from evergold.ingest import prepare
from evergold.ingest.prepare import BUSY, PreparedSpans, Request, RequestReader, SecondReader
from evergold.settings import Settings
from evergold.sources.spans import Wire
from perf.otlp_load import SPANS, bodies, send, wait_until_stored
from tests.patience import PATIENCE

EVERGOLD = str(Path(sys.executable).parent / "evergold")


def wait_until(true: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.01)


def readers_of(pid: int) -> list[int]:
    """The processes that a server has started to read requests."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = (folder / "stat").read_text().rsplit(")", 1)[1].split()[1]
            if int(parent) == pid and b"spawn_main" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def has_started(pid: int) -> bool:
    """Whether a reader sleeps and uses no time: it waits for requests."""
    looks = []
    for _ in range(2):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        looks.append((fields[0], fields[11], fields[12]))  # its state, and the time that it used
        time.sleep(0.2)
    return looks[0][0] == "S" and looks[0] == looks[1]


def is_alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def wait_until_gone(reader: int, server: int) -> None:
    wait_until(lambda: reader not in readers_of(server))


@contextmanager
def serve(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("EVERGOLD_")}
    with subprocess.Popen(
        [EVERGOLD, "serve", "--port", "0"], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[1], process
        finally:
            process.terminate()


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="with one core there is no second process")
def test_a_killed_reader_loses_no_request(tmp_path: Path) -> None:
    database, sent = tmp_path / ".evergold/evergold.db", 0
    with serve(tmp_path) as (url, server):
        assert readers_of(server.pid) == []
        for _ in range(2):  # a second one takes the place of the first
            while not readers_of(server.pid):
                send(url, bodies(12, 10, seed=sent), 6)
                sent += 12
            reader = readers_of(server.pid)[0]
            wait_until(partial(has_started, reader))
            under_way = threading.Thread(target=send, args=(url, bodies(30, 10, seed=sent), 6))
            under_way.start()
            wait_until_stored(database, (sent + 6) * SPANS)
            with suppress(ProcessLookupError):  # it may end by itself when it was idle
                os.kill(reader, signal.SIGKILL)
            wait_until_gone(reader, server.pid)
            under_way.join()
            sent += 30
        send(url, bodies(12, 10, seed=sent), 6)
        wait_until_stored(database, (sent + 12) * SPANS)
        readers = readers_of(server.pid)
    wait_until(lambda: not any(map(is_alive, readers)))


def test_both_processes_read_alike_and_the_second_ends_when_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "IDLE_SECONDS", 1.0)
    settings = Settings()
    here = RequestReader(settings)
    second = SecondReader(settings, here)
    (body,) = bodies(1, 10, seed=1)
    request = Request("traces", Wire.PROTOBUF, body)
    assert second.read(request, BUSY - 1) is None and second.read(request._replace(body=b"small"), BUSY) is None
    expected = here.read(request).rows  # first: loading what it needs takes longer than the second process stays idle
    wait_until(lambda: second.read(request, BUSY) is not None)
    read, bad = second.read(request, 1), second.read(request._replace(body=b"\xff" * 20_000), 1)
    pool = second._pool
    assert pool is not None
    (pid,) = pool._processes
    assert read is not None and read.result(PATIENCE).rows == expected
    assert bad is not None
    with pytest.raises(BadInput):
        bad.result(PATIENCE)
    wait_until(lambda: not is_alive(pid))
    assert second.read(request, BUSY - 1) is None
    second.close()


def test_a_process_that_cannot_start_is_tried_once() -> None:
    second = SecondReader(Settings(redact_redactor="no_such"), RequestReader(Settings()))
    request = Request("traces", Wire.PROTOBUF, b"\xff" * 20_000)
    assert second.read(request, BUSY) is None and second._pool is not None
    started = second._started
    assert started is not None
    wait_until(started.done)
    for _ in range(2):
        assert second.read(request, BUSY) is None and second._pool is None


def test_requests_of_a_pool_that_broke_are_read_without_its_lock() -> None:
    second = SecondReader(Settings(), RequestReader(Settings()))
    (body,) = bodies(1, 10, seed=1)
    request = Request("traces", Wire.PROTOBUF, body)
    wait_until(lambda: second.read(request, BUSY) is not None)
    pool = second._pool
    assert pool is not None
    there: Future[PreparedSpans] = Future()
    read: Future[PreparedSpans] = Future()
    there.set_exception(BrokenExecutor())
    # From Python 3.12 on a pool that breaks holds this lock while it calls back.
    with pool._shutdown_lock:
        second._settle(request, there, read, pool)
    assert second._pool is None and read.result(0).rows
    pool.shutdown(wait=False)
