"""Errors of the drivers as one line: which database, what it reported, what to do next."""

import sqlite3
from typing import Any

import pytest
from sqlalchemy.exc import DataError, IntegrityError, OperationalError, ProgrammingError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from evergold.errors import BadInput, EvergoldError, Unavailable
from evergold.store.database.failures import explain_errors, explanation, show_url
from tests.rows import each_row

SQLITE, POSTGRES = "sqlite:////tmp/a.db", "postgresql+psycopg://jo:pa55@db/x"


def sqlite_error(code: int, message: str = "reported") -> sqlite3.OperationalError:
    problem = sqlite3.OperationalError(message)
    problem.sqlite_errorcode = code
    return problem


class PostgresError(Exception):
    def __init__(self, sqlstate: str | None, words: str = "reported") -> None:
        super().__init__(f"{words}\nDETAIL: more")
        self.sqlstate = sqlstate


class OperationalErrorOfDriver(PostgresError):
    pass


OperationalErrorOfDriver.__name__ = "OperationalError"


def by_driver(problem: Exception, kind: Any = OperationalError, lost: bool = False) -> Any:
    return kind("SELECT 1", {}, problem, connection_invalidated=lost)


@each_row(
    ("code", "advice"),
    [
        (sqlite3.SQLITE_CANTOPEN, "check that the folder exists"),
        (sqlite3.SQLITE_READONLY, "make the file and its folder writable"),
        (sqlite3.SQLITE_READONLY | (1 << 8), "make the file and its folder writable"),
        (sqlite3.SQLITE_NOTADB, "this is not an SQLite file"),
        (sqlite3.SQLITE_CORRUPT, "restore a backup"),
        (sqlite3.SQLITE_BUSY, "another program holds it"),
        (sqlite3.SQLITE_FULL, "free some space"),
    ],
)
def test_a_failure_of_sqlite_names_the_file_and_the_next_step(code: int, advice: str) -> None:
    for problem in (sqlite_error(code), by_driver(sqlite_error(code))):
        known = explanation(SQLITE, problem)
        assert isinstance(known, Unavailable)
        assert known.message.startswith("database '/tmp/a.db': reported; ") and advice in known.message


@each_row(
    ("state", "advice"),
    [
        ("28P01", "check user and password"),
        ("3D000", "create it (createdb)"),
        ("25006", "name the primary server"),
        ("42501", "GRANT CREATE, USAGE ON SCHEMA public"),
        ("53100", "free some space"),
        ("53300", "no room for it now"),
        ("40001", "several writers met"),
        ("57P01", "stopping or starting"),
        ("57014", "database.statement_seconds"),
        ("XX001", "may be damaged"),
    ],
)
def test_a_failure_of_postgresql_is_known_by_its_state(state: str, advice: str) -> None:
    known = explanation(POSTGRES, by_driver(PostgresError(state)))
    assert isinstance(known, Unavailable) and advice in known.message
    assert "pa55" not in known.message and "DETAIL" not in known.message


@each_row(
    ("words", "advice"),
    [
        ('FATAL:  password authentication failed for user "evergold"', "check user and password"),
        ("fe_sendauth: no password supplied", "check user and password"),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.7"', "pg_hba.conf"),
        ('FATAL:  role "nobody" does not exist', "check user and password"),
        ('FATAL:  database "evergold" does not exist', "createdb"),
        ("FATAL:  sorry, too many clients already", "database.connections"),
        ("failed to resolve host 'ss@10.0.0.7': Name or service not known", "%40"),
        ("connection refused", "check that the server runs"),
    ],
)
def test_a_refused_connection_is_known_by_the_words_of_the_server(words: str, advice: str) -> None:
    known = explanation(POSTGRES, by_driver(OperationalErrorOfDriver(None, words)))
    assert isinstance(known, Unavailable) and advice in known.message and words in known.message


@pytest.mark.parametrize(
    "problem",
    [by_driver(OperationalErrorOfDriver(None)), by_driver(PostgresError(None), lost=True)],
)
def test_a_server_that_does_not_answer_has_no_state(problem: Any) -> None:
    known = explanation(POSTGRES, problem)
    assert isinstance(known, Unavailable) and "check that the server runs" in known.message


@each_row(
    "problem",
    [
        by_driver(PostgresError("22003"), DataError),
        OverflowError("int too large"),
        UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"),
        StatementError("x", "INSERT", {}, OverflowError("int too large")),
    ],
)
def test_a_value_that_cannot_be_stored_is_the_callers_to_change(problem: Exception) -> None:
    known = explanation(POSTGRES, problem)
    assert isinstance(known, BadInput) and "cannot be stored or looked for" in known.message


@each_row(
    "problem",
    [
        by_driver(PostgresError("42P01"), ProgrammingError),
        by_driver(sqlite_error(sqlite3.SQLITE_CONSTRAINT), IntegrityError),
        sqlite3.ProgrammingError("closed"),
        KeyError("x"),
        ValueError("x"),
    ],
)
def test_a_defect_of_this_program_passes_as_it_is(problem: Exception) -> None:
    assert explanation(POSTGRES, problem) is None
    with pytest.raises(type(problem)), explain_errors(POSTGRES):
        raise problem


def test_a_pool_without_a_free_connection_says_so() -> None:
    with pytest.raises(EvergoldError, match="every connection is in use; try again"), explain_errors(SQLITE):
        raise PoolTimeout("QueuePool limit")


@each_row(
    ("url", "text"),
    [(SQLITE, "'/tmp/a.db'"), (POSTGRES, "'postgresql+psycopg://jo:***@db/x'"), ("sqlite://", "None")],
)
def test_a_url_is_shown_without_its_password(url: str, text: str) -> None:
    assert show_url(url) == text


def test_an_error_without_words_is_named_by_its_class() -> None:
    known = explanation(SQLITE, by_driver(sqlite_error(sqlite3.SQLITE_BUSY, "")))
    assert known is not None and "OperationalError" in known.message and known.status == 503
