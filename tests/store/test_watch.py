"""Connections that wait for a server without an answer are cut, whatever state others are in."""

import threading

import pytest
from sqlalchemy import text

from evergold.errors import Unavailable
from evergold.settings import Settings
from evergold.store import Store
from tests.patience import PATIENCE


def test_a_lost_connection_does_not_keep_the_others_from_being_cut(postgres_url: str) -> None:
    store = Store.open(Settings(database_url=postgres_url))
    watch = store.db._watch
    assert watch is not None
    begun, ended = threading.Event(), threading.Event()

    def wait_for_ever() -> None:
        with pytest.raises(Unavailable), store.db.read() as stuck:
            stuck.execute(text("SELECT 1"))
            begun.set()
            stuck.execute(text("SELECT pg_sleep(600)"))
        ended.set()

    with pytest.raises(Unavailable), store.db.read() as lost, store.db.read() as other:
        own = lost.execute(text("SELECT pg_backend_pid()")).scalar_one()
        other.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": own})
        driver = lost.connection.driver_connection
        assert driver is not None
        with pytest.raises(Exception, match=r"terminat|lost|closed"):
            driver.execute("SELECT 1")
        thread = threading.Thread(target=wait_for_ever)
        thread.start()
        assert begun.wait(PATIENCE)
        watch.disconnect()
        assert ended.wait(PATIENCE)
        thread.join()
    store.close()


def test_a_connection_that_broke_is_no_longer_in_use(postgres_url: str) -> None:
    store = Store.open(Settings(database_url=postgres_url))
    watch = store.db._watch
    assert watch is not None
    with pytest.raises(Unavailable), store.db.read() as lost:
        own = lost.execute(text("SELECT pg_backend_pid()")).scalar_one()
        with store.db.read() as other:
            other.execute(text("SELECT pg_terminate_backend(:pid)"), {"pid": own})
        lost.execute(text("SELECT 1"))
    assert watch._in_use == {}
    store.close()
