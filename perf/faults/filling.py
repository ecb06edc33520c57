"""Fill a PostgreSQL with many traces by its own statements: what is measured begins with a full database."""

import psycopg

TABLES = ("traces", "spans", "trace_scores")
START = "timestamp '2026-08-01' + n * interval '10 seconds'"
MOMENT = f"""to_char({START} + interval '{{}} seconds', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""
WORDS = "'order parcel address refund ' || n || ' ' || repeat('working days ', 12)"
ROWS = (
    f"""INSERT INTO traces (id, session_id, user_id, name, input_text, output_text, model, started_at, ended_at, duration_ms)
        SELECT md5(n::text), 's' || n / 5, 'u' || mod(n, 9973), 'chat', {WORDS}, {WORDS}, 'm' || mod(n, 3),
          {MOMENT.format(0)}, {MOMENT.format(2)}, 500 + mod(n, 4000) FROM generate_series(1, %s) n""",
    """INSERT INTO spans (trace_seq, id, name, kind, input_text, output_text, started_at, ended_at, raw)
        SELECT t.seq, substr(md5(t.seq::text || k), 1, 16), 'step ' || k, 'llm', t.input_text, t.output_text,
          t.started_at, t.ended_at, '{"attributes":{"size":' || t.seq || '}}'
        FROM traces t, generate_series(1, 3) k WHERE t.seq <= %s""",
    """INSERT INTO trace_scores (trace_id, name, value, source, key)
        SELECT md5(n::text), 'format', mod(n, 5) / 4.0, 'system', 'a' FROM generate_series(1, %s) n""",
)
# Those of a partitioned table stay: they would have to be made again for each partition.
INDEXES = """SELECT indexname, indexdef FROM pg_indexes JOIN pg_class c ON c.relname = indexname
    WHERE tablename = ANY(%s) AND schemaname = 'public' AND c.relkind = 'i'
    AND indexname NOT IN (SELECT conname FROM pg_constraint)"""


def fill(url: str, traces: int) -> None:
    """Store so many traces of three spans and a score each; indexes are made at the end, triggers are left out."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute("SET maintenance_work_mem = '512MB'")
        held = connection.execute(INDEXES, (list(TABLES),)).fetchall()
        for name, _ in held:
            connection.execute(f"DROP INDEX {name}")
        for statement in ROWS:
            connection.execute(statement, (traces,))
        for _, statement in held:
            connection.execute(statement)
        connection.execute("VACUUM ANALYZE")
