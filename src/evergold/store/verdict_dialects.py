"""What SQLite and PostgreSQL write differently in the statements of curation."""

from dataclasses import dataclass

from sqlalchemy import Connection

from evergold.model.values import UNIT_HEX_DIGITS


@dataclass(frozen=True)
class Dialect:
    """The few things the two databases say differently. A `fence` keeps a subquery whole: what it works out once is not
    worked out again wherever it is mentioned, and nothing is written down in between."""

    trim: str
    least: str
    listed: str
    unit: str
    metadata_text: str
    merged: str
    included: str
    quoted: str
    fence: str


# `unit_interval` is a Python function that `db.py` registers with each connection.
SQLITE = Dialect(
    trim="trim",
    least="min",
    listed="json_group_array(json_object('name', name, 'source', source, 'value', value))",
    unit="unit_interval({})",
    metadata_text="EXISTS (SELECT 1 FROM json_each(t.metadata) m WHERE m.key = {key} AND m.type = 'text' "
    "AND m.value IN ({allowed}))",
    merged="json_patch(eval_dataset.{column}, {patch})",
    included="json_extract({}, '$.provenance.inclusion_probability')",
    quoted="json_quote({})",
    fence="LIMIT -1",
)
POSTGRES = Dialect(
    trim="btrim",
    least="least",
    listed="coalesce(json_agg(json_build_object('name', name, 'source', source, 'value', value))::text, '[]')",
    unit=f"(('x' || substr(md5({{}}), 1, {UNIT_HEX_DIGITS}))::bit({4 * UNIT_HEX_DIGITS})::bigint::float8 "
    f"/ {16**UNIT_HEX_DIGITS}::float8)",
    metadata_text="(jsonb_typeof(t.metadata::jsonb -> CAST({key} AS text)) = 'string' "
    "AND t.metadata::jsonb ->> CAST({key} AS text) IN ({allowed}))",
    # `json_patch` removes keys whose new value is null; PostgreSQL needs both steps for the same.
    merged="((eval_dataset.{column}::jsonb - 'confirmed') || jsonb_strip_nulls(({patch})::jsonb))::text",
    included="({}::jsonb #>> '{{provenance,inclusion_probability}}')::float8",
    quoted="to_json({})::text",
    fence="OFFSET 0",
)


def dialect_of(connection: Connection) -> Dialect:
    return POSTGRES if connection.dialect.name == "postgresql" else SQLITE
