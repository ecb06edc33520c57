"""Callers of the writer are told when their commit is on the disk, also while it closes."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from evergold.errors import Unavailable
from evergold.settings import Settings
from evergold.store import Store
from tests.patience import PATIENCE


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


def test_sqlite_puts_every_commit_on_the_disk_before_its_caller_is_told(tmp_path: Path) -> None:
    store, full = Store.open(Settings(home=tmp_path)), 2
    assert store.db.write(lambda connection: connection.exec_driver_sql("PRAGMA synchronous").scalar_one()) == full
    store.close()
