"""Told only of what is on the disk."""

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from evergold.errors import Unavailable
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.syncing import CommitOutcome, Syncing
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
