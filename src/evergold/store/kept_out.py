"""Count the reasons that keep traces out of the golden set: the verdicts of a policy on the newest traces."""

from sqlalchemy import Connection, text

from evergold.model.policy import Policy, Reason
from evergold.store.verdict_dialects import dialect_of
from evergold.store.verdict_sql import CODE, Scope, VerdictQuery

LOOKED_AT = 20_000  # traces at most: the page must open whatever the store holds
NEWEST = "trace_id IN (SELECT id FROM traces WHERE started_at >= :since ORDER BY started_at DESC, seq DESC LIMIT :most)"


def newest_traces(connection: Connection, most: int) -> list[str]:
    """List the newest traces."""
    query = text("SELECT id FROM traces ORDER BY started_at DESC, seq DESC LIMIT :most")
    return list(connection.execute(query, {"most": most}).scalars())


def reasons_since(
    connection: Connection, policy: Policy, scope: Scope, since: str, most: int = LOOKED_AT
) -> tuple[int, dict[Reason, int]]:
    """Count the newest traces since then, and of those that have scores the verdicts by reason."""
    query = VerdictQuery(policy, dialect_of(connection), NEWEST, scope)
    verdicts = query.sql()  # which completes the parameters
    params = query.params | {"since": since, "most": most}
    rows = connection.execute(text(f"SELECT reason, count(*) FROM ({verdicts}) AS v GROUP BY reason"), params)
    names = {code: reason for reason, code in CODE.items()}
    counts = {names[code]: int(number) for code, number in rows}
    total = "SELECT count(*) FROM (SELECT 1 FROM traces WHERE started_at >= :since LIMIT :most) AS t"
    return int(connection.execute(text(total), {"since": since, "most": most}).scalar_one()), counts


def scores_between(connection: Connection, policy: Policy, since: str) -> dict[str, int]:
    """Count, by name, the system scores of those traces that are neither a failure nor good enough for golden."""
    query = f"""SELECT name, count(*) FROM trace_scores WHERE {NEWEST} AND source = 'system'
        AND value >= :low AND value < :high GROUP BY name ORDER BY 2 DESC, 1 LIMIT 10"""
    low, high = policy.thresholds.failure_below, policy.thresholds.golden_from
    params = {"since": since, "most": LOOKED_AT, "low": low, "high": high}
    return {row[0]: int(row[1]) for row in connection.execute(text(query), params)}
