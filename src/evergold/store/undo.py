"""Taking back what a revision of a policy did.

An entry goes back to what it was before the newest unbroken run of changes by that revision. Where somebody else, a
person or a later revision, has changed the entry since, theirs stands: it is counted and left alone.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, select, text

from evergold.errors import BadInput, NotFound, unknown
from evergold.store.curation import BATCH
from evergold.store.schema import policies
from evergold.store.values import now
from evergold.store.verdict_sql import dialect_of

IN_POSTGRES = "(evidence::jsonb #>> '{before,inclusion_probability}')::float8"


@dataclass
class Undone:
    """How many entries went back, and how many were left because somebody changed them since."""

    policy: str = ""
    undone: int = 0
    left: int = 0


def policy_revisions(connection: Connection) -> list[tuple[str, str, str, str]]:
    """Name, revision, content and time of first use of every policy revision that ever changed an entry."""
    query = select(policies).order_by(policies.c.created_at, policies.c.name, policies.c.rev)
    return [(row["name"], row["rev"], row["body"], row["created_at"]) for row in connection.execute(query).mappings()]


def find_revision(connection: Connection, label: str) -> str:
    """The whole label (`name@` and twelve digits) of what a person typed (`name@` and enough digits)."""
    name, at, digits = label.partition("@")
    labels = [f"{held}@{rev.removeprefix('sha256:')[:12]}" for held, rev, _, _ in policy_revisions(connection)]
    if not at or not digits:
        raise BadInput(f"{label!r} names no policy revision; write POLICY@REV ({', '.join(labels) or 'none is known'})")
    matching = [known for known in labels if known.startswith(f"{name}@{digits.removeprefix('sha256:')[:12]}")]
    if len(matching) != 1:
        raise NotFound(unknown("policy revision", label, labels))
    return matching[0]


def undo_batch(connection: Connection, label: str, after: int) -> tuple[Undone, int | None]:
    """Take back one batch of entries, by id; the second value is where the next batch begins, None at the end."""
    who = f"policy {label}"
    _plan(connection, who, after)
    last, seen = connection.execute(text("SELECT max(entry), count(*) FROM undo_plan")).one()
    if not seen:
        return Undone(label), None
    params = {
        "now": now(),
        "label": label,
        "yes": '{"confirmed":true}',
        "no": '{"confirmed":false}',
        "nil": '{"confirmed":null}',
    }
    dialect = dialect_of(connection)
    merged = dialect.merged.format(
        column="metadata",
        patch="CASE p.was WHEN 'confirmed' THEN CAST(:yes AS text) WHEN 'candidate' THEN CAST(:no AS text) "
        "ELSE CAST(:nil AS text) END",
    )
    weighed = dialect.merged.format(
        column="body",
        patch="""'{"provenance":{"source":"policy","inclusion_probability":' || CAST(p.included AS text) || '}}'""",
    )
    done = connection.execute(
        text(
            f"""UPDATE eval_dataset SET status = CASE p.was WHEN 'none' THEN 'withdrawn' ELSE 'active' END,
              entry_type = CASE p.was WHEN 'none' THEN entry_type WHEN 'failure' THEN 'failure' ELSE 'golden' END,
              confirmed = CASE p.was WHEN 'none' THEN confirmed WHEN 'confirmed' THEN 1 ELSE 0 END,
              metadata = CASE p.was WHEN 'none' THEN eval_dataset.metadata ELSE {merged} END,
              body = CASE WHEN p.included IS NULL THEN eval_dataset.body ELSE {weighed} END,
              policy_rev = coalesce(p.rev, policy_rev),
              version = version + 1, updated_at = :now
            FROM undo_plan p WHERE eval_dataset.id = p.entry AND p.newest = 1"""
        ),
        params,
    ).rowcount
    connection.execute(
        text(
            """INSERT INTO case_revisions (entry_id, version, action, who, why, evidence, created_at)
            SELECT d.id, d.version, 'undone', 'undo ' || CAST(:label AS text), 'took back ' || CAST(:label AS text),
              '{"is":"' || p.was || '"}', :now
            FROM undo_plan p JOIN eval_dataset d ON d.id = p.entry WHERE p.newest = 1"""
        ),
        params,
    )
    return Undone(label, undone=done, left=seen - done), int(last)


def _plan(connection: Connection, who: str, after: int) -> None:
    """For each entry the revision touched: whether its change is the newest, and what the entry was before it."""
    connection.execute(
        text(
            "CREATE TEMPORARY TABLE IF NOT EXISTS undo_plan "
            "(entry INTEGER, newest INTEGER, was TEXT, rev TEXT, included FLOAT)"
        )
    )
    connection.execute(text("DELETE FROM undo_plan"))
    was, rev, included = (
        ("evidence::jsonb ->> 'was'", "evidence::jsonb #>> '{before,policy_rev}'", IN_POSTGRES)
        if connection.dialect.name == "postgresql"
        else (
            f"json_extract(evidence, '$.{at}')" for at in ("was", "before.policy_rev", "before.inclusion_probability")
        )
    )
    connection.execute(
        text(
            f"""INSERT INTO undo_plan SELECT f.entry_id, CASE WHEN d.version = f.last THEN 1 ELSE 0 END, {was}, {rev}, {included}
            FROM (SELECT x.entry_id, x.last, (SELECT min(r.version) FROM case_revisions r
                WHERE r.entry_id = x.entry_id AND r.who = :who
                  AND r.version > coalesce((SELECT max(o.version) FROM case_revisions o
                    WHERE o.entry_id = x.entry_id AND o.who <> :who), 0)) AS first
              FROM (SELECT entry_id, max(version) AS last FROM case_revisions
                    WHERE who = :who AND entry_id > :after GROUP BY entry_id ORDER BY entry_id LIMIT :size) AS x) AS f
            JOIN eval_dataset d ON d.id = f.entry_id
            LEFT JOIN case_revisions r ON r.entry_id = f.entry_id AND r.version = f.first"""
        ),
        {"who": who, "after": after, "size": BATCH},
    )
