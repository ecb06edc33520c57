"""Taking back what a revision of a policy did.

An entry goes back to what it was before the newest unbroken run of changes by that revision. Where somebody else, a
person or a later revision, has changed the entry since, theirs stands: it is counted and left alone. A change that was taken
back counts no more, so that later and earlier revisions can be undone one after the other.
"""

from dataclasses import dataclass

from sqlalchemy import Connection

from evergold.errors import BadInput, NotFound, describe_unknown
from evergold.store.conditions import json_value
from evergold.store.database.rows import now, run_sql
from evergold.store.verdict.curation import BATCH
from evergold.store.verdict.tiers import dialect_of

# What the evidence of a policy's revision says of the entry before it: see `_revisions` in `curation.py`.
WANTED = (("was",), *(("before", name) for name in ("policy_rev", "inclusion_probability", "dataset", "evidence")))
NOT_FAILED = """DELETE FROM eval_dataset_tags WHERE tag LIKE 'failed:%' AND dataset_id IN
    (SELECT entry FROM undo_plan WHERE newest = 1 AND was IN ('candidate', 'unconfirmed', 'confirmed'))"""
# Revisions that were written before evidence was say only the tier.
EARLIER = "coalesce(p.evidence, CASE p.was WHEN 'confirmed' THEN 'user' WHEN 'failure' THEN 'check' ELSE 'outcome' END)"
CREATE_PLAN = """CREATE TEMPORARY TABLE IF NOT EXISTS undo_plan (entry INTEGER, stands INTEGER, newest INTEGER,
    back_to INTEGER, was TEXT, rev TEXT, included FLOAT, dataset TEXT, evidence TEXT)"""
REVISE = """INSERT INTO case_revisions (entry_id, version, action, who, why, evidence, created_at)
    SELECT d.id, d.version, 'undone', 'undo ' || CAST(:label AS text), 'took back ' || CAST(:label AS text),
      '{"is":"' || p.was || '","back_to":' || CAST(p.back_to AS text) || '}', :now
    FROM undo_plan p JOIN eval_dataset d ON d.id = p.entry WHERE p.newest = 1"""


@dataclass
class Undone:
    """How many entries went back, and how many were left because somebody changed them since."""

    policy: str = ""
    undone: int = 0
    left: int = 0


def policy_revisions(connection: Connection) -> list[tuple[str, str, str, str]]:
    """Name, revision, content and time of first use of every policy revision that ever changed an entry."""
    query = "SELECT name, rev, body, created_at FROM policies ORDER BY created_at, name, rev"
    return [(row[0], row[1], row[2], row[3]) for row in run_sql(connection, query)]


def find_revision(connection: Connection, label: str) -> str:
    """The whole label (`name@` and twelve digits) of what a person typed (`name@` and enough digits)."""
    name, at, digits = label.partition("@")
    labels = [f"{held}@{rev.removeprefix('sha256:')[:12]}" for held, rev, _, _ in policy_revisions(connection)]
    if not at or not digits:
        raise BadInput(f"{label!r} names no policy revision; write POLICY@REV ({', '.join(labels) or 'none is known'})")
    # Enough digits are those that name one revision only, as with commits of git.
    matching = [known for known in labels if known.startswith(f"{name}@{digits.removeprefix('sha256:')[:12]}")]
    if len(matching) != 1:
        raise NotFound(describe_unknown("policy revision", label, labels))
    return matching[0]


def undo_batch(connection: Connection, label: str, after: int, size: int = BATCH) -> tuple[Undone, int | None]:
    """Take back one batch of entries, by id; the second value is where the next batch begins, None at the end."""
    _plan(connection, f"policy {label}", after, size)
    last, standing = run_sql(connection, "SELECT max(entry), sum(stands) FROM undo_plan").one()
    if last is None:
        return Undone(label), None
    name, _, digits = label.partition("@")
    moment = now()
    # The plan is a temporary table, so counting, changing and explaining use the same rows.
    done = run_sql(connection, _go_back(connection), now=moment, name=name, digits=digits).rowcount
    run_sql(connection, NOT_FAILED)
    run_sql(connection, REVISE, now=moment, label=label)
    return Undone(label, undone=done, left=int(standing) - done), int(last)


def _go_back(connection: Connection) -> str:
    """Make the statement that gives planned entries their earlier state; the dialects merge JSON differently."""
    dialect = dialect_of(connection)
    merged = dialect.merged.format(
        column="metadata",
        patch=f"""CASE p.was WHEN 'confirmed' THEN '{{"confirmed": true,' WHEN 'failure' THEN '{{"confirmed": null,'
            ELSE '{{"confirmed": false,' END || '"evidence":"' || {EARLIER} || '"}}'""",
    )
    weighed = dialect.merged.format(
        column="body",
        patch="""'{"provenance":{"source":"policy","inclusion_probability":' || CAST(p.included AS text) || '}}'""",
    )
    return f"""UPDATE eval_dataset SET status = CASE p.was WHEN 'none' THEN 'withdrawn' ELSE 'active' END,
          entry_type = CASE p.was WHEN 'none' THEN entry_type WHEN 'failure' THEN 'failure' ELSE 'golden' END,
          confirmed = CASE p.was WHEN 'none' THEN confirmed WHEN 'confirmed' THEN 1 ELSE 0 END,
          evidence = CASE p.was WHEN 'none' THEN eval_dataset.evidence ELSE {EARLIER} END,
          metadata = CASE p.was WHEN 'none' THEN eval_dataset.metadata ELSE {merged} END,
          body = CASE WHEN p.included IS NULL THEN eval_dataset.body ELSE {weighed} END,
          policy_rev = coalesce(p.rev, policy_rev), dataset = coalesce(p.dataset, eval_dataset.dataset),
          undone = coalesce((SELECT rev FROM policies WHERE name = :name AND substr(rev, 8, 12) = :digits), ''),
          version = version + 1, updated_at = :now
        FROM undo_plan p WHERE eval_dataset.id = p.entry AND p.newest = 1"""


def _plan(connection: Connection, who: str, after: int, size: int) -> None:
    """For each entry the revision touched: whether its change is the newest, and what the entry was before it."""
    run_sql(connection, CREATE_PLAN)
    run_sql(connection, "DELETE FROM undo_plan")
    dialect = connection.dialect.name
    was, rev, included, *others = (json_value(dialect, "r.evidence", *path) for path in WANTED)
    before = (was, rev, f"CAST({included} AS FLOAT)", *others)
    # An undo says to which version it went back: every change behind that counts no more.
    back_to = f"CAST({json_value(dialect, 'u.evidence', 'back_to')} AS INTEGER)"
    statement = f"""INSERT INTO undo_plan
            WITH touched AS (SELECT DISTINCT entry_id FROM case_revisions WHERE who = :who AND entry_id > :after
                ORDER BY entry_id LIMIT :size),
              alive AS (SELECT r.entry_id, r.version, r.who FROM touched x JOIN case_revisions r ON r.entry_id = x.entry_id
                WHERE r.action NOT IN ('undone', 'grew') AND NOT EXISTS (SELECT 1 FROM case_revisions u
                  WHERE u.entry_id = r.entry_id AND u.action = 'undone' AND u.version > r.version AND {back_to} < r.version)),
              ends AS (SELECT x.entry_id, max(CASE WHEN a.who = :who THEN a.version END) AS mine,
                coalesce(max(CASE WHEN a.who <> :who THEN a.version END), 0) AS theirs
                FROM touched x LEFT JOIN alive a ON a.entry_id = x.entry_id GROUP BY x.entry_id),
              runs AS (SELECT e.*, (SELECT min(a.version) FROM alive a WHERE a.entry_id = e.entry_id AND a.who = :who
                AND a.version > e.theirs) AS first FROM ends e)
            SELECT f.entry_id, CASE WHEN f.mine IS NULL THEN 0 ELSE 1 END, CASE WHEN f.mine > f.theirs THEN 1 ELSE 0 END,
              f.first - 1, {", ".join(before)}
            FROM runs f LEFT JOIN case_revisions r ON r.entry_id = f.entry_id AND r.version = f.first"""
    run_sql(connection, statement, who=who, after=after, size=size)
