"""Told only of what is on the disk."""

import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from evergold.errors import Unavailable
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.commit.syncing import CommitOutcome, Syncing
from tests.patience import PATIENCE


def test_a_log_that_cannot_be_put_on_the_disk_is_a_failure(tmp_path: Path) -> None:
    done: list[Future[Any]] = [Future(), Future()]
    syncing = Syncing(tmp_path / "missing" / "evergold.db-wal")
    syncing.resolve([CommitOutcome(done[0], "stored"), CommitOutcome(done[1], failure=ValueError("its own"))])
    with pytest.raises(FileNotFoundError):
        done[0].result(PATIENCE)
    with pytest.raises(ValueError, match="its own"):
        done[1].result(PATIENCE)
    syncing.close()


def test_what_is_taken_while_it_closes_is_done_and_the_rest_refused(settings: Settings) -> None:
    for _ in range(20):
        store = Store.open(settings)

        def hand_over(store: Store = store) -> None:
            while True:
                assert store.db.submit(lambda _: 1).result(PATIENCE) == 1

        with ThreadPoolExecutor(4) as pool:
            ended = [pool.submit(hand_over) for _ in range(4)]
            store.db.submit(lambda _: 1).result(PATIENCE)
            store.close()
        assert {type(future.exception()) for future in ended} == {Unavailable}


def test_everybody_is_told_before_it_closes(settings: Settings) -> None:
    store = Store.open(settings)
    futures = [store.db.submit(lambda _, number=number: number) for number in range(200)]  # type: ignore[misc]
    store.close()
    assert [future.result(0) for future in futures] == list(range(200))


def test_nobody_is_told_before_the_log_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`synchronous=NORMAL` does not put a commit on the disk: only the fsync of the log does."""
    store = Store.open(Settings(home=tmp_path))
    log = os.stat(tmp_path / "evergold.db-wal")
    synced: list[bool] = []
    real = os.fsync

    def fsync(descriptor: int) -> None:
        same = os.path.samestat(os.fstat(descriptor), log)
        synced.append(same and not done.done())
        real(descriptor)

    done: Future[int] = Future()
    monkeypatch.setattr(os, "fsync", fsync)
    go_on = Event()

    def work(_: object) -> int:
        assert go_on.wait(PATIENCE)
        return 1

    done = store.db.submit(work)
    go_on.set()
    assert done.result(PATIENCE) == 1
    assert synced == [True], "the log was put on the disk once, before the answer"
    store.close()
