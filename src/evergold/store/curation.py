"""Curation as set-based SQL: a batch of traces is judged, compared with its living entries, and only what differs is
written, each change with its revision. One late score and a million old traces go through the same statements.

A batch is a range of trace ids (a backfill) or what waits in the queue. It runs in one transaction, so a crash leaves
a batch done or not begun; doing it again changes nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, text

from evergold.model.policy import Policy, Reason, Sampling, Tier
from evergold.store.curation_tags import tag_entries
from evergold.store.schema import policies
from evergold.store.traces import insert_new
from evergold.store.values import dumps, now
from evergold.store.verdict_sql import CODE, TIER_OF, VerdictQuery, dialect_of

BATCH = 5_000
IN_RANGE = "trace_id > :after AND trace_id <= :upto"
IN_CHOSEN = "trace_id IN (SELECT trace_id FROM curation_chosen)"

FAILING = ", ".join(str(CODE[reason]) for reason, tier in TIER_OF.items() if tier is Tier.FAILURE)
PLACED = ", ".join(str(CODE[reason]) for reason in TIER_OF)
CONFIRMED, CANDIDATE = CODE[Reason.CONFIRMED], CODE[Reason.CANDIDATE]

ENTRY_TYPE = f"CASE WHEN v.reason IN ({FAILING}) THEN 'failure' ELSE 'golden' END"
TIER = (
    f"CASE WHEN v.reason IN ({FAILING}) THEN 'failure' WHEN v.reason = {CONFIRMED} THEN 'confirmed' "
    f"WHEN v.reason = {CANDIDATE} THEN 'candidate' ELSE 'none' END"
)
# Tiers as numbers, so that "from this to that" is one comparison: none 0, failure 1, candidate 2, confirmed 3.
NOW = f"CASE WHEN reason IN ({FAILING}) THEN 1 WHEN reason = {CANDIDATE} THEN 2 WHEN reason = {CONFIRMED} THEN 3 ELSE 0 END"
WAS = """CASE WHEN coalesce(was_status, '') <> 'active' THEN 0 WHEN was_type = 'failure' THEN 1
      WHEN was_confirmed = 0 THEN 2 ELSE 3 END"""
TIERS = tuple(Tier)
STEPS = {
    "withdrawn": (10, 20, 30),
    "failed": (21, 31),
    "recovered": (12, 13),
    "confirmed": (23,),
    "unconfirmed": (32,),
}
COMPARED = f"""
    WITH v AS MATERIALIZED (SELECT x.*, {WAS} AS was, {NOW} AS tier FROM ({{verdicts}}) AS x)
    SELECT trace_id, reason, entry, CASE was {" ".join(f"WHEN {n} THEN '{t.value}'" for n, t in enumerate(TIERS))} END AS was,
      CASE
      WHEN tier = was THEN CASE WHEN stale = 1 AND was > 0 THEN 'refreshed' END
      WHEN entry IS NULL THEN 'added'
      WHEN was_status IN ('dismissed', 'erased') THEN NULL
      {" ".join(f"WHEN was * 10 + tier IN ({', '.join(map(str, steps))}) THEN '{kind}'" for kind, steps in STEPS.items())}
      ELSE 'restored' END AS change, coalesce(was_version, 0) + 1 AS version, seq, message_type, model, tags
    FROM v"""


@dataclass
class Changes:
    """What curation did, or would do: how many traces were looked at, the changes by kind, and what they led to."""

    traces: int = 0
    by_kind: dict[str, int] = field(default_factory=dict)
    by_tier: dict[str, int] = field(default_factory=dict)
    examples: dict[str, list[str]] = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.by_kind.values())

    def add(self, other: "Changes") -> None:
        self.traces += other.traces
        for mine, theirs in ((self.by_kind, other.by_kind), (self.by_tier, other.by_tier)):
            for name, count in theirs.items():
                mine[name] = mine.get(name, 0) + count
        for kind, ids in other.examples.items():
            self.examples[kind] = (self.examples.get(kind, []) + ids)[:5]


def record_policy(connection: Connection, policy: Policy) -> None:
    """Keep what a policy revision said, so that its name can still be explained when its file has changed."""
    insert_new(
        connection, policies, [{"name": policy.name, "rev": policy.rev, "body": dumps(policy.model_dump(mode="json"))}]
    )


def ranges(connection: Connection, size: int = BATCH) -> Iterator[tuple[str, str, int]]:
    """All traces as ranges of ids of about `size`: after, up to and including, how many."""
    after = ""
    query = text("SELECT max(id), count(*) FROM (SELECT id FROM traces WHERE id > :after ORDER BY id LIMIT :size) AS x")
    while True:
        upto, count = connection.execute(query, {"after": after, "size": size}).one()
        if not count:
            return
        yield after, upto, count
        after = upto


def curate_range(connection: Connection, policy: Policy, after: str, upto: str) -> Changes:
    return _curate(connection, policy, IN_RANGE, {"after": after, "upto": upto})


def curate_traces(connection: Connection, policy: Policy, trace_ids: Iterable[str]) -> Changes:
    choose(connection, trace_ids)
    return _curate(connection, policy, IN_CHOSEN, {})


def take_queued(connection: Connection, limit: int = BATCH) -> list[str]:
    """Take traces off the queue, oldest first. Taken before they are judged: what comes meanwhile queues again."""
    skip = " FOR UPDATE SKIP LOCKED" if connection.dialect.name == "postgresql" else ""
    taken = connection.execute(
        text(
            "DELETE FROM curation_queue WHERE trace_id IN (SELECT trace_id FROM curation_queue "
            f"ORDER BY queued_at, trace_id LIMIT :limit{skip}) RETURNING trace_id"
        ),
        {"limit": limit},
    )
    return list(taken.scalars())


def set_aside(connection: Connection) -> tuple[str, ...]:
    """Take the trace at the head of the queue off it without curating it, and count that."""
    taken = take_queued(connection, 1)
    for _ in taken:
        connection.execute(
            text(
                "INSERT INTO counters (name, value) VALUES ('curation.failed', 1) "
                "ON CONFLICT (name) DO UPDATE SET value = counters.value + 1"
            )
        )
    return tuple(taken)


def queue_counts(connection: Connection) -> tuple[int, int]:
    """How many traces wait, and how many could not be curated since the workspace began."""
    waiting = connection.execute(text("SELECT count(*) FROM curation_queue")).scalar_one()
    failed = connection.execute(text("SELECT value FROM counters WHERE name = 'curation.failed'")).scalar()
    return int(waiting), int(failed or 0)


def preview(connection: Connection, policy: Policy, after: str, upto: str) -> Changes:
    """What `curate_range` would do, without doing it."""
    query = VerdictQuery(policy, dialect_of(connection), IN_RANGE)
    rows = connection.execute(
        text(
            f"SELECT change, {TIER}, count(*), min(trace_id) FROM ({COMPARED.format(verdicts=query.sql())}) AS v "
            "WHERE change IS NOT NULL GROUP BY 1, 2"
        ),
        query.params | {"after": after, "upto": upto},
    )
    return _counted(rows)


def _counted(rows: Iterable[Any]) -> Changes:
    changes = Changes()
    for kind, tier, count, example in rows:
        changes.add(Changes(by_kind={kind: count}, by_tier={tier: count}, examples={kind: [example]}))
    return changes


def choose(connection: Connection, trace_ids: Iterable[str]) -> None:
    connection.execute(text("CREATE TEMPORARY TABLE IF NOT EXISTS curation_chosen (trace_id TEXT PRIMARY KEY)"))
    connection.execute(text("DELETE FROM curation_chosen"))
    rows = [{"trace_id": trace_id} for trace_id in dict.fromkeys(trace_ids)]
    if rows:
        connection.execute(text("INSERT INTO curation_chosen VALUES (:trace_id)"), rows)
    _measure(connection, "curation_chosen")


def _measure(connection: Connection, table: str) -> None:
    """Tell PostgreSQL how small a temporary table is; left to guess, it reads whole tables for one trace."""
    if connection.dialect.name == "postgresql":
        connection.execute(text(f"ANALYZE {table}"))


def _curate(connection: Connection, policy: Policy, chosen: str, scope: dict[str, object]) -> Changes:
    query = VerdictQuery(policy, dialect_of(connection), chosen)
    _judge(connection, query, scope)
    counted = text(f"SELECT change, {TIER}, count(*), min(trace_id) FROM curation_verdicts v GROUP BY 1, 2")
    changes = _counted(connection.execute(counted))
    if changes.by_kind:
        record_policy(connection, policy)
        _write(connection, query)
    return changes


def _judge(connection: Connection, query: VerdictQuery, scope: dict[str, object]) -> None:
    """The verdicts that differ from what stands in the dataset, in a temporary table."""
    connection.execute(
        text(
            "CREATE TEMPORARY TABLE IF NOT EXISTS curation_verdicts (trace_id TEXT NOT NULL, reason INTEGER NOT NULL, "
            "entry INTEGER, was TEXT NOT NULL, change TEXT NOT NULL, version INTEGER NOT NULL, seq INTEGER, "
            "message_type TEXT, model TEXT, tags TEXT NOT NULL)"
        )
    )
    connection.execute(text("DELETE FROM curation_verdicts"))
    connection.execute(
        text(
            f"INSERT INTO curation_verdicts SELECT * FROM ({COMPARED.format(verdicts=query.sql())}) AS c "
            "WHERE change IS NOT NULL"
        ),
        query.params | scope,
    )
    _measure(connection, "curation_verdicts")


def _write(connection: Connection, query: VerdictQuery) -> None:
    policy = query.policy
    params = query.params | {
        "dataset": policy.dataset,
        "rev": policy.rev,
        "who": f"policy {policy.label}",
        "now": now(),
        "said_failure": dumps({"confirmed": None}),
        "said_candidate": dumps({"confirmed": False}),
        "said_confirmed": dumps({"confirmed": True}),
    }
    params |= {f"body_{tier.value}": _body(policy.sample, tier) for tier in Tier if tier is not Tier.NONE}
    params |= {f"why_{code}": policy.say(reason) for reason, code in CODE.items()}
    for statement in (_insert(), FIND_ENTRIES, DROP_LOST, _update(query), _revisions(query)):
        connection.execute(text(statement), params)
    tag_entries(connection, query, params)


def _body(sample: Sampling, tier: Tier) -> str:
    return dumps({"provenance": {"source": "policy", "inclusion_probability": sample.rate(tier)}})


BODY = (
    f"CASE WHEN v.reason IN ({FAILING}) THEN CAST(:body_failure AS text) "
    f"WHEN v.reason = {CONFIRMED} THEN CAST(:body_confirmed AS text) ELSE CAST(:body_candidate AS text) END"
)


# Another server may have been first with an entry; then it is theirs, and there is nothing left to say about it here.
DROP_LOST = "DELETE FROM curation_verdicts WHERE entry IS NULL"
FIND_ENTRIES = """
    UPDATE curation_verdicts SET entry = (SELECT d.id FROM eval_dataset d
      WHERE d.trace_id = curation_verdicts.trace_id AND d.policy = :policy) WHERE entry IS NULL"""


def _insert() -> str:
    return f"""
        INSERT INTO eval_dataset (trace_id, entry_type, input_text, output_text, metadata, dataset, case_id, body,
          session_id, policy, policy_rev, confirmed, created_at, updated_at)
        SELECT v.trace_id, {ENTRY_TYPE}, t.input_text, t.output_text,
          CASE WHEN v.reason IN ({FAILING}) THEN '{{}}' WHEN v.reason = {CONFIRMED} THEN CAST(:said_confirmed AS text)
            ELSE CAST(:said_candidate AS text) END,
          :dataset, CAST(:policy AS text) || ':' || v.trace_id, {BODY}, t.session_id, :policy, :rev,
          CASE WHEN v.reason = {CONFIRMED} THEN 1 ELSE 0 END, :now, :now
        FROM curation_verdicts v JOIN traces t ON t.seq = v.seq WHERE v.change = 'added'
        ON CONFLICT DO NOTHING"""


def _update(query: VerdictQuery) -> str:
    """A withdrawn entry keeps its type; its status says that it no longer takes part."""
    said = (
        f"CASE WHEN v.reason IN ({FAILING}) THEN CAST(:said_failure AS text) "
        f"WHEN v.reason = {CONFIRMED} THEN CAST(:said_confirmed AS text) ELSE CAST(:said_candidate AS text) END"
    )
    gone = "v.change = 'withdrawn'"
    metadata = query.dialect.merged.format(column="metadata", patch=said)
    body = query.dialect.merged.format(column="body", patch=BODY)
    text_of = "CASE WHEN v.change = 'refreshed' THEN t.{0} ELSE eval_dataset.{0} END"
    return f"""
        UPDATE eval_dataset SET
          entry_type = CASE WHEN {gone} THEN entry_type ELSE {ENTRY_TYPE} END,
          confirmed = CASE WHEN {gone} THEN confirmed WHEN v.reason = {CONFIRMED} THEN 1 ELSE 0 END,
          metadata = CASE WHEN {gone} THEN eval_dataset.metadata ELSE {metadata} END,
          body = CASE WHEN {gone} THEN eval_dataset.body ELSE {body} END,
          status = CASE WHEN {gone} THEN 'withdrawn' ELSE 'active' END,
          input_text = {text_of.format("input_text")}, output_text = {text_of.format("output_text")},
          dataset = :dataset, policy_rev = :rev, version = v.version, updated_at = :now
        FROM curation_verdicts v JOIN traces t ON t.id = v.trace_id
        WHERE eval_dataset.id = v.entry AND v.change <> 'added'"""


def _revisions(query: VerdictQuery) -> str:
    why = " ".join(f"WHEN {code} THEN CAST(:why_{code} AS text)" for code in CODE.values())
    return f"""
        INSERT INTO case_revisions (entry_id, version, action, who, why, evidence, created_at)
        SELECT v.entry, v.version, v.change, :who, CASE v.reason {why} END,
          '{{"was":"' || v.was || '","is":"' || {TIER} || '","scores":' || {query.deciding()} || '}}', :now
        FROM curation_verdicts v WHERE v.entry IS NOT NULL
        ON CONFLICT DO NOTHING"""
