"""Parts that filters of traces and of cases share: lists of values, times as people write them, values inside JSON columns."""

from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from evergold.errors import BadInput

MANY = 50


def as_list(given: Any) -> Any:
    """One value stands for a list of it, and none for an empty one."""
    return () if given is None else (given,) if isinstance(given, str) else given


def _pairs(written: tuple[str, ...]) -> tuple[str, ...]:
    for one in written:
        key, sign, _ = one.partition("=")
        if not sign or not key.strip() or '"' in key:
            raise BadInput(
                f"metadata condition {one!r} cannot be read; write a key and a value, as in `release=2026.1`"
            )
    return written


Many = Annotated[tuple[str, ...], BeforeValidator(as_list), Field(max_length=MANY)]
Pairs = Annotated[Many, AfterValidator(_pairs)]


def json_value(dialect: str, column: str, *path: str) -> str:
    """The SQL of a value inside a JSON column: what it is in SQLite, its text in PostgreSQL."""
    if dialect == "sqlite":
        return f"json_extract({column}, '$.{'.'.join(path)}')"
    return f"({column}::jsonb #>> '{{{','.join(path)}}}')"


# The app of a row of `traces` (`{0}`: its name in the query), as `app_of` says it.
_APP = """CASE WHEN coalesce({1}, '') = '' THEN {{0}}.name WHEN {{0}}.name = '' THEN {1} ELSE {1} || '/' || {{0}}.name END"""
APP = {
    "sqlite": _APP.format("", "json_extract({0}.metadata, '$.services[0]')"),
    "postgresql": _APP.format("", "({0}.metadata::jsonb #>> '{{services,0}}')"),
}


def json_text(column: str, key: str, dialect: str) -> str:
    """The SQL of a value inside a JSON column as the text it is written with: `true`, `3`, `word`. `key` is SQL as well."""
    if dialect != "sqlite":
        return f"jsonb_extract_path_text(CAST({column} AS jsonb), CAST({key} AS text))"
    # SQLite extracts true and false as 1 and 0; their type is their text.
    at = f"""'$."' || {key} || '"'"""
    kind = f"json_type({column}, {at})"
    return f"CASE WHEN {kind} IN ('true', 'false') THEN {kind} ELSE CAST(json_extract({column}, {at}) AS text) END"


def parse_cutoff(moment: str) -> str:
    """A moment a person wrote, so that it can be compared with stamps of any number of digits: UTC, without the `Z`."""
    try:
        read = datetime.fromisoformat(moment.strip())
    except ValueError:
        raise BadInput(f"time {moment!r} cannot be read; write 2026-01-02 or 2026-01-02T03:04:05Z") from None
    try:
        read = read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)
    except OverflowError:
        raise BadInput(f"time {moment!r} falls outside the years 1 to 9999 in UTC") from None
    # Stamps end in `Z`, which sorts behind every digit and `.`: without it a cutoff sorts before all stamps of its second.
    return read.replace(tzinfo=None).isoformat()


Cutoff = Annotated[str, AfterValidator(parse_cutoff)]
