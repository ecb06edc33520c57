"""Queries of alert rules: scores of a window, the time of the last trace, sizes of datasets now and before."""

from sqlalchemy import Connection, text

KEPT_SIZES_DAYS = 31


def scored_since(connection: Connection, name: str, since: str, below: float) -> tuple[int, int]:
    """Count the scores of a name among traces that began since then: all, and those below a value."""
    query = """SELECT count(*), coalesce(sum(CASE WHEN s.value < :below THEN 1 ELSE 0 END), 0)
        FROM traces t CROSS JOIN trace_scores s WHERE t.started_at >= :since AND s.trace_id = t.id AND s.name = :name"""
    scored, failing = connection.execute(text(query), {"below": below, "since": since, "name": name}).one()
    return int(scored), int(failing)


def last_received(connection: Connection) -> str | None:
    """When the newest trace came; None when there is none."""
    value = connection.execute(text("SELECT received_at FROM traces ORDER BY seq DESC LIMIT 1")).scalar()
    return None if value is None else str(value)


def sizes_now(connection: Connection) -> dict[str, int]:
    """Count the active cases of each dataset."""
    query = "SELECT dataset, count(*) FROM eval_dataset WHERE status = 'active' GROUP BY dataset"
    return {row[0]: int(row[1]) for row in connection.execute(text(query))}


def keep_sizes(connection: Connection, sizes: dict[str, int], moment: str, forget_before: str) -> None:
    """Note the sizes of this hour: the largest of it stands."""
    largest = "CASE WHEN excluded.cases > dataset_sizes.cases THEN excluded.cases ELSE dataset_sizes.cases END"
    statement = f"""INSERT INTO dataset_sizes (dataset, hour, cases) VALUES (:dataset, :hour, :cases)
        ON CONFLICT (dataset, hour) DO UPDATE SET cases = {largest}"""
    if sizes:
        rows = [{"dataset": name, "hour": moment[:13], "cases": cases} for name, cases in sizes.items()]
        connection.execute(text(statement), rows)
    connection.execute(text("DELETE FROM dataset_sizes WHERE hour < :hour"), {"hour": forget_before[:13]})


def largest_since(connection: Connection, since: str) -> dict[str, int]:
    """Give the most cases that each dataset had since then, as far as it was noted."""
    query = "SELECT dataset, max(cases) FROM dataset_sizes WHERE hour >= :hour GROUP BY dataset"
    return {row[0]: int(row[1]) for row in connection.execute(text(query), {"hour": since[:13]})}
