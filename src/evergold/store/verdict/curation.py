"""Curation as set-based SQL: a batch of traces is judged, compared with its living entries, and only what differs is
written, each change with its revision. One late score and a million old traces go through the same statements.

A batch is a range of trace ids (a backfill) or what waits in the queue. It runs in one transaction, so a crash leaves
a batch done or not begun; doing it again changes nothing. Its statements pass one temporary table on, `curation_verdicts`: the
verdicts that differ from what stands in the dataset. Writing and reading their text would take longer than curating one trace
with them, so they are built once for each policy and kept. Changes of the rules are appended, never overwritten.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any

from sqlalchemy import Connection, TextClause, insert, text

from evergold.errors import Conflict
from evergold.machine import is_dead
from evergold.model.operations import Curated
from evergold.model.policy import BETWEEN, NewRules, Policy, Reason, RulesChange, Tier
from evergold.store.database.rows import (
    batches,
    dumps,
    insert_new,
    insert_rows,
    loads,
    now,
    read_column,
    read_value,
    run_sql,
)
from evergold.store.facts import count, database_time, fact_to_change, now_and_later
from evergold.store.schema import eval_dataset_tags, policies, rule_changes
from evergold.store.verdict.tiers import CODE, POSTGRES, TIER_OF, Dialect, Scope, VerdictQuery, dialect_of

FAILING = ", ".join(str(CODE[reason]) for reason, tier in TIER_OF.items() if tier is Tier.FAILURE)
CONFIRMED = CODE[Reason.CONFIRMED]
UNCONFIRMED = ", ".join(str(CODE[reason]) for reason, tier in TIER_OF.items() if tier is Tier.UNCONFIRMED)
CHECKED = CODE[Reason.CHECKED]
# Reasons to keep a trace out that say something about its reply: with them a validated entry is worth another look.
AGAINST = ", ".join(str(CODE[reason]) for reason in (*BETWEEN, Reason.TRACE_FAILED, Reason.NO_OUTPUT, Reason.FALLBACK))

ENTRY_TYPE = f"CASE WHEN v.reason IN ({FAILING}) THEN 'failure' ELSE 'golden' END"
TIER = f"""CASE WHEN v.reason IN ({FAILING}) THEN 'failure' WHEN v.reason = {CONFIRMED} THEN 'confirmed'
    WHEN v.reason IN ({UNCONFIRMED}) THEN 'unconfirmed' WHEN v.reason = {CHECKED} THEN 'candidate' ELSE 'none' END"""
# Tiers as numbers, so that "from this to that" is one comparison: none 0, failure 1, candidate 2, unconfirmed 3, confirmed 4.
NOW = f"""CASE WHEN reason IN ({FAILING}) THEN 1 WHEN reason = {CHECKED} THEN 2 WHEN reason IN ({UNCONFIRMED}) THEN 3
    WHEN reason = {CONFIRMED} THEN 4 ELSE 0 END"""
WAS = """CASE WHEN coalesce(was_status, '') <> 'active' THEN 0 WHEN was_type = 'failure' THEN 1
      WHEN was_confirmed = 1 THEN 4 WHEN was_evidence = 'silence' THEN 2 ELSE 3 END"""
# Tens: what it was, ones: what it is. 24 is a candidate that became confirmed.
STEPS = {
    "withdrawn": (10, 20, 30, 40),
    "failed": (21, 31, 41),
    "recovered": (12, 13, 14),
    "confirmed": (24, 34),
    "unconfirmed": (42, 43),
    "promoted": (23,),
    "demoted": (32,),
}
STEP = " ".join(f"WHEN was * 10 + tier IN ({', '.join(map(str, of))}) THEN '{kind}'" for kind, of in STEPS.items())
NAMED = " ".join(f"WHEN {code} THEN '{reason.name.lower()}'" for reason, code in CODE.items())
# What speaks against a person's word, so that the same thing is asked once: the verdict, and how many have spoken.
ASKED = f"""CASE WHEN stands = 1
        AND ((was >= 2 AND (tier = 1 OR (tier = 0 AND reason IN ({AGAINST})))) OR (was = 1 AND tier >= 2))
      THEN CASE reason {NAMED} END || ':' || CAST(voices AS text) ELSE '' END"""
SHARE = """CASE tier WHEN 1 THEN :share_failure WHEN 2 THEN :share_candidate WHEN 3 THEN :share_unconfirmed
      ELSE :share_confirmed END"""
COMPARED = f"""
    SELECT trace_id, reason, entry, CASE was {" ".join(f"WHEN {n} THEN '{t.value}'" for n, t in enumerate(Tier))} END AS was,
      CASE
      WHEN stands = 1 AND was > 0 THEN
        CASE WHEN asked = was_question THEN NULL
          WHEN asked = '' AND (was_question LIKE 'grew:%' OR was_question LIKE 'stale:%') THEN NULL
          WHEN asked = '' THEN 'settled' WHEN asked = was_answered THEN NULL
          ELSE 'questioned' END
      WHEN stands = 1 AND entry IS NOT NULL THEN NULL
      WHEN tier = was THEN
        CASE WHEN was = 0 THEN NULL WHEN stale = 1 THEN 'refreshed' WHEN was_evidence <> evidence THEN 'evidence'
          WHEN was_dataset <> :dataset THEN 'moved'
          WHEN reason <> {CHECKED} AND was_included <> {SHARE} THEN 'reweighed' WHEN mistagged = 1 THEN 'retagged' END
      WHEN entry IS NULL THEN 'added'
      WHEN was_status IN ('dismissed', 'erased') THEN NULL
      {STEP} ELSE 'restored' END AS change,
      coalesce(was_version, 0) + 1 AS version, was_rev, was_included, was_dataset, was_evidence, seq, message_type, model, tags,
      asked, evidence
    FROM (SELECT y.*, {ASKED} AS asked
      FROM (SELECT x.*, {WAS} AS was, {NOW} AS tier FROM ({{verdicts}}) AS x {{fence}}) AS y) AS v"""

CREATE_VERDICTS = """
    CREATE TEMPORARY TABLE IF NOT EXISTS curation_verdicts (trace_id TEXT NOT NULL, reason INTEGER NOT NULL, entry INTEGER,
      was TEXT NOT NULL, change TEXT NOT NULL, version INTEGER NOT NULL, was_rev TEXT, was_included FLOAT,
      was_dataset TEXT, was_evidence TEXT, seq INTEGER, message_type TEXT, model TEXT, tags TEXT NOT NULL,
      asked TEXT NOT NULL, evidence TEXT NOT NULL)"""
QUESTIONS = "('questioned', 'settled')"
COUNTED = f"SELECT change, {TIER}, count(*), min(trace_id) FROM {{}} AS v WHERE change IS NOT NULL GROUP BY 1, 2"

BODY = f"""CASE WHEN v.reason IN ({FAILING}) THEN CAST(:body_failure AS text)
    WHEN v.reason = {CONFIRMED} THEN CAST(:body_confirmed AS text)
    WHEN v.reason IN ({UNCONFIRMED}) THEN CAST(:body_unconfirmed AS text) ELSE CAST(:body_candidate AS text) END"""
RESTS_ON = "'\"evidence\":\"' || v.evidence || '\"}'"
INSERT = f"""
    INSERT INTO eval_dataset (trace_id, entry_type, input_text, output_text, metadata, dataset, case_id, body,
      session_id, user_id, policy, policy_rev, confirmed, evidence, created_at, updated_at)
    SELECT v.trace_id, {ENTRY_TYPE}, t.input_text, t.output_text,
      CASE WHEN v.reason IN ({FAILING}) THEN '{{' WHEN v.reason = {CONFIRMED} THEN '{{"confirmed": true,'
        ELSE '{{"confirmed": false,' END || {RESTS_ON},
      :dataset, CAST(:policy AS text) || ':' || v.trace_id, {BODY}, t.session_id, t.user_id, :policy, :rev,
      CASE WHEN v.reason = {CONFIRMED} THEN 1 ELSE 0 END, v.evidence, :now, :now
    FROM curation_verdicts v JOIN traces t ON t.seq = v.seq WHERE v.change = 'added'
    ON CONFLICT DO NOTHING"""
FIND_ENTRIES = """
    UPDATE curation_verdicts SET entry = (SELECT d.id FROM eval_dataset d
      WHERE d.trace_id = curation_verdicts.trace_id AND d.policy = :policy) WHERE entry IS NULL"""
# Another server may have been first with an entry; then it is theirs, and there is nothing left to say about it here.
DROP_LOST = "DELETE FROM curation_verdicts WHERE entry IS NULL"


ASK = f"""
    UPDATE eval_dataset SET question = v.asked, updated_at = :now FROM curation_verdicts v
    WHERE eval_dataset.id = v.entry AND v.change IN {QUESTIONS}"""


class Statements:
    """What a policy needs to be applied to the traces that `chosen` names, and what the statements are told."""

    def __init__(self, policy: Policy, dialect: Dialect, chosen: str, scope: Scope) -> None:
        query = VerdictQuery(policy, dialect, chosen, scope)
        compared = COMPARED.format(verdicts=query.sql(), fence=dialect.fence)
        self.preview = text(COUNTED.format(f"({compared})"))
        self.judge = text(f"INSERT INTO curation_verdicts SELECT * FROM ({compared}) AS c WHERE change IS NOT NULL")
        self.first = tuple(map(text, (INSERT, FIND_ENTRIES, DROP_LOST)))
        self.update = text(_update(dialect))
        self.ask = text(ASK)
        self.revise = text(_revisions(query))
        self.forget_tags: TextClause | None = text(STALE_TAGS) if "failed_check" in policy.tags else None
        self.tag = tuple(text(f"{TAG_INTO} {made} ON CONFLICT DO NOTHING") for made in _tags(policy, query))
        self.params = query.params | {"dataset": policy.dataset, "who": f"policy {policy.label}"}
        for tier in set(Tier) - {Tier.NONE}:
            share = self.params[f"share_{tier.value}"] = policy.sample.rate(tier)
            drawn = {"provenance": {"source": "policy", "inclusion_probability": share}}
            self.params[f"body_{tier.value}"] = dumps(drawn)
        self.params |= {f"why_{code}": policy.explain(reason) for reason, code in CODE.items()}


statements = lru_cache(maxsize=64)(Statements)


def _update(dialect: Dialect) -> str:
    """A withdrawn entry keeps its type; its status says that it no longer takes part."""
    verdict_patch = f"""CASE WHEN v.reason IN ({FAILING}) THEN '{{"confirmed": null,'
        WHEN v.reason = {CONFIRMED} THEN '{{"confirmed": true,' ELSE '{{"confirmed": false,' END || {RESTS_ON}"""
    gone = "v.change = 'withdrawn'"
    metadata = dialect.merged.format(column="metadata", patch=verdict_patch)
    body = dialect.merged.format(column="body", patch=BODY)
    text_of = "CASE WHEN v.change = 'refreshed' THEN t.{0} ELSE eval_dataset.{0} END"
    return f"""
        UPDATE eval_dataset SET
          entry_type = CASE WHEN {gone} THEN entry_type ELSE {ENTRY_TYPE} END,
          confirmed = CASE WHEN {gone} THEN confirmed WHEN v.reason = {CONFIRMED} THEN 1 ELSE 0 END,
          evidence = CASE WHEN {gone} THEN eval_dataset.evidence ELSE v.evidence END,
          metadata = CASE WHEN {gone} THEN eval_dataset.metadata ELSE {metadata} END,
          body = CASE WHEN {gone} THEN eval_dataset.body ELSE {body} END,
          status = CASE WHEN {gone} THEN 'withdrawn' ELSE 'active' END,
          input_text = {text_of.format("input_text")}, output_text = {text_of.format("output_text")},
          dataset = CASE WHEN {gone} THEN eval_dataset.dataset ELSE :dataset END,
          policy_rev = :rev, undone = '', version = v.version, updated_at = :now,
          content = CASE WHEN v.change = 'refreshed' AND own_content = 0 THEN NULL ELSE content END,
          grown = CASE WHEN v.change = 'refreshed' THEN grown + 1 ELSE grown END
        FROM curation_verdicts v JOIN traces t ON t.id = v.trace_id
        WHERE eval_dataset.id = v.entry AND v.change <> 'added' AND v.change NOT IN {QUESTIONS}"""


def _revisions(query: VerdictQuery) -> str:
    """`before` is what undoing the change has to give back."""
    why = " ".join(f"WHEN {code} THEN CAST(:why_{code} AS text)" for code in CODE.values())
    dataset = query.dialect.quoted.format("v.was_dataset")
    before = f"""CASE WHEN v.was_rev IS NULL THEN '' ELSE ',"before":{{"policy_rev":"' || v.was_rev
            || '","inclusion_probability":' || coalesce(CAST(v.was_included AS text), 'null')
            || ',"evidence":"' || v.was_evidence || '","dataset":' || {dataset} || '}}' END"""
    return f"""
        INSERT INTO case_revisions (entry_id, version, action, who, why, evidence, created_at)
        SELECT v.entry, v.version, v.change, :who, CASE v.reason {why} END,
          '{{"was":"' || v.was || '","is":"' || {TIER} || '"' || {before} || ',"scores":' || {query.deciding_scores()}
            || '}}', :now
        FROM curation_verdicts v WHERE v.entry IS NOT NULL AND v.change NOT IN {QUESTIONS}
        ON CONFLICT DO NOTHING"""


TAG_INTO = "INSERT INTO eval_dataset_tags (dataset_id, tag)"
KEPT_VERDICTS = "curation_verdicts v WHERE v.change NOT IN ('withdrawn', 'questioned', 'settled')"
STALE_TAGS = """DELETE FROM eval_dataset_tags WHERE tag LIKE 'failed:%' AND dataset_id IN
    (SELECT entry FROM curation_verdicts WHERE change NOT IN ('added', 'withdrawn', 'questioned', 'settled'))"""


def _tags(policy: Policy, query: VerdictQuery) -> Iterator[str]:
    """What gives entries their tags: the trace's own, then each kind the policy asks for."""
    in_json = "json_array_elements_text(v.tags::json) AS item(value)"
    each = in_json if query.dialect is POSTGRES else "json_each(v.tags) AS item"
    listed = KEPT_VERDICTS.replace(" WHERE", f" CROSS JOIN {each} WHERE")
    yield f"SELECT v.entry, item.value FROM {listed} AND v.tags <> '[]' AND item.value <> ''"
    made = {
        "message_type": f"SELECT v.entry, v.message_type FROM {KEPT_VERDICTS} AND v.message_type <> ''",
        "model": f"SELECT v.entry, 'model:' || v.model FROM {KEPT_VERDICTS} AND v.model <> ''",
        "tool": f"SELECT v.entry, 'tool:' || s.name FROM {_join_changes('spans', 's.trace_seq = v.seq')} "
        "AND s.kind = 'tool' AND s.name <> ''",
        "failed_check": f"SELECT v.entry, 'failed:' || s.name FROM {_join_changes('trace_scores', 's.trace_id = v.trace_id')} "
        f"AND v.reason IN ({FAILING}) AND s.value < :low AND {query.system} AND {query.heeded}",
    }
    yield from (statement for kind, statement in made.items() if kind in policy.tags)


def _join_changes(table: str, same: str) -> str:
    """The changed rows with theirs of another table; `CROSS JOIN` keeps SQLite from scanning that table first."""
    return KEPT_VERDICTS.replace(" WHERE", f" CROSS JOIN {table} s WHERE {same} AND")


BATCH = 5_000
LENT_SECONDS = 120.0  # longer than slow checks, or a batch, take before they are stored
PLAIN = Scope()
IN_RANGE = "trace_id > :after AND trace_id <= :upto"
IN_CHOSEN = "trace_id IN (SELECT trace_id FROM curation_chosen)"
UNHELD = "(lease_until IS NULL OR lease_until <= :now OR owner = :owner)"
GIVE_BACK = "UPDATE curation_queue SET owner = NULL, lease_until = NULL WHERE owner = :owner"
NOT_CHOSEN = f"{IN_RANGE} AND trace_id NOT IN (SELECT trace_id FROM curation_chosen)"


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

    def as_curated(self, waiting: int = 0) -> Curated:
        """The changes as they are shown, with how many traces wait."""
        return Curated(traces=self.traces, tiers=self.by_tier, changes=self.by_kind, waiting=waiting)

    def add(self, other: "Changes") -> None:
        self.traces += other.traces
        for mine, theirs in ((self.by_kind, other.by_kind), (self.by_tier, other.by_tier)):
            for name, number in theirs.items():
                mine[name] = mine.get(name, 0) + number
        for kind, ids in other.examples.items():
            self.examples[kind] = (self.examples.get(kind, []) + ids)[:5]


def ranges(connection: Connection, size: int = BATCH) -> list[tuple[str, str, int]]:
    """All traces as ranges of ids of about `size`: after, up to and including, how many."""
    results, after = list[tuple[str, str, int]](), ""
    while (following := next_range(connection, after, size)) is not None:
        results.append(following)
        after = following[1]
    return results


def next_range(connection: Connection, after: str, size: int, last: str | None = None) -> tuple[str, str, int] | None:
    """The range of the next traces, at most `size` and up to the `last`; None behind the last one."""
    bound = "" if last is None else " AND id <= :last"
    # Ranges of ids and not OFFSET: traces that arrive meanwhile shift no range.
    some = f"SELECT id FROM traces WHERE id > :after{bound} ORDER BY id LIMIT :size"
    query = f"SELECT max(id), count(*) FROM ({some}) AS x"
    upto, count = run_sql(connection, query, after=after, size=size, last=last).one()
    return (after, upto, count) if count else None


def curate_range(connection: Connection, policy: Policy, after: str, upto: str, scope: Scope = PLAIN) -> Changes:
    return _curate(connection, policy, IN_RANGE, {"after": after, "upto": upto}, scope)


def curate_traces(connection: Connection, policy: Policy, trace_ids: Iterable[str], scope: Scope = PLAIN) -> Changes:
    choose(connection, trace_ids)
    return _curate(connection, policy, IN_CHOSEN, {}, scope)


def take_queued(connection: Connection, limit: int = BATCH, owner: str = "") -> list[str]:
    """Take traces off the queue, oldest first. Taken before they are judged: what comes meanwhile queues again.

    Traces that a server other than `owner` runs slow checks over are left to it until its lease is over.
    """
    # Two servers that curate take different traces instead of waiting for each other.
    skip = " FOR UPDATE SKIP LOCKED" if connection.dialect.name == "postgresql" else ""
    free = f"SELECT trace_id FROM curation_queue WHERE {UNHELD} ORDER BY queued_at, trace_id LIMIT :limit{skip}"
    statement = f"DELETE FROM curation_queue WHERE trace_id IN ({free}) RETURNING trace_id"
    return read_column(connection, statement, limit=limit, now=database_time(connection), owner=owner)


def next_queued(connection: Connection, limit: int) -> list[str]:
    """The traces that `take_queued` would take, left where they are."""
    query = f"SELECT trace_id FROM curation_queue WHERE {UNHELD} ORDER BY queued_at, trace_id LIMIT :limit"
    return read_column(connection, query, limit=limit, now=database_time(connection), owner="")


def lend_queued(connection: Connection, limit: int, owner: str) -> list[str]:
    """Lend the next traces to a process that takes them off the queue when it curates them.

    Sessions of which another process has a turn in hand are left to it: remarks and checks of a turn change the turns before.
    """
    fact_to_change(connection, "curation.lend")  # two that lend at once would not see what the other one has in hand
    now, until = now_and_later(connection, LENT_SECONDS)
    skip = " FOR UPDATE OF q SKIP LOCKED" if connection.dialect.name == "postgresql" else ""
    statement = f"""WITH busy AS (SELECT t.session_id FROM curation_queue q JOIN traces t ON t.id = q.trace_id
            WHERE q.lease_until > :now AND q.owner <> :owner AND t.session_id IS NOT NULL),
          free AS (SELECT q.trace_id FROM curation_queue q LEFT JOIN traces t ON t.id = q.trace_id WHERE {UNHELD}
            AND NOT EXISTS (SELECT 1 FROM busy b WHERE b.session_id = t.session_id)
            ORDER BY q.queued_at, q.trace_id LIMIT :limit{skip})
        UPDATE curation_queue SET owner = :owner, lease_until = :until
        WHERE trace_id IN (SELECT trace_id FROM free) RETURNING trace_id, queued_at"""
    rows = run_sql(connection, statement, limit=limit, now=now, owner=owner, until=until)
    # An update gives its rows in any order.
    return [trace_id for _, trace_id in sorted((queued_at, trace_id) for trace_id, queued_at in rows)]


def free_lent(connection: Connection) -> None:
    """Give traces back to the queue whose server is known to be dead: nobody waits for its lease."""
    for owner in read_column(connection, "SELECT DISTINCT owner FROM curation_queue WHERE owner IS NOT NULL"):
        if is_dead(owner):
            run_sql(connection, GIVE_BACK, owner=owner)


def take_lent(connection: Connection, trace_ids: Sequence[str], owner: str) -> list[str]:
    """Take these traces off the queue, as far as they are still lent to this server; its other ones are free again."""
    taken = _take_off(connection, trace_ids, "owner = :owner", owner=owner)
    run_sql(connection, GIVE_BACK, owner=owner)
    return taken


def _take_off(connection: Connection, trace_ids: Sequence[str], condition: str, **values: str) -> list[str]:
    """Take those of some traces off the queue for which a condition holds."""
    statement = f"DELETE FROM curation_queue WHERE trace_id IN :some AND {condition} RETURNING trace_id"
    parts = (read_column(connection, statement, some=tuple(batch), **values) for batch in batches(trace_ids))
    return list(chain.from_iterable(parts))


def list_queue(connection: Connection, after: str, size: int = BATCH) -> list[str]:
    """A batch of the traces that wait, by id, left where they are."""
    query = "SELECT trace_id FROM curation_queue WHERE trace_id > :after ORDER BY trace_id LIMIT :size"
    return read_column(connection, query, after=after, size=size)


def set_aside(connection: Connection, trace_ids: Sequence[str], owner: str = "") -> tuple[str, ...]:
    """Take traces off the queue without curating them, and count that; one that another server holds by now is left to it."""
    taken = _take_off(connection, trace_ids, UNHELD, now=database_time(connection), owner=owner)
    count(connection, {"curation.failed": len(taken)})
    return tuple(taken)


def queue_counts(connection: Connection) -> tuple[int, int]:
    """How many traces wait, and how many could not be curated since the workspace began."""
    failed = read_value(connection, "SELECT value FROM counters WHERE name = 'curation.failed'")
    return int(read_value(connection, "SELECT count(*) FROM curation_queue")), int(failed or 0)


def is_queued_before(connection: Connection, moment: str) -> bool:
    """Whether a trace waits that was queued at this moment or before, also one that another process has in hand."""
    query = "SELECT 1 FROM curation_queue WHERE queued_at <= :moment LIMIT 1"
    return read_value(connection, query, moment=moment) is not None


def preview(
    connection: Connection,
    policy: Policy,
    after: str,
    upto: str,
    without: Collection[str] | None = None,
    scope: Scope = PLAIN,
) -> Changes:
    """What `curate_range` would do, without doing it; `without` some traces of the range."""
    chosen = IN_RANGE
    if without:
        choose(connection, without)
        chosen = NOT_CHOSEN
    plan = statements(policy, dialect_of(connection), chosen, scope)
    return _count_changes(connection.execute(plan.preview, plan.params | {"after": after, "upto": upto}))


def _count_changes(rows: Iterable[Any]) -> Changes:
    changes = Changes()
    for kind, tier, number, example in rows:
        changes.add(Changes(by_kind={kind: number}, by_tier={tier: number}, examples={kind: [example]}))
    return changes


def choose(connection: Connection, trace_ids: Iterable[str]) -> None:
    run_sql(connection, "CREATE TEMPORARY TABLE IF NOT EXISTS curation_chosen (trace_id TEXT PRIMARY KEY)")
    # The table lives as long as the connection, which the pool hands to others.
    run_sql(connection, "DELETE FROM curation_chosen")
    insert_rows(connection, "curation_chosen", ("trace_id",), [(one,) for one in dict.fromkeys(trace_ids)])
    _measure(connection, "curation_chosen")


def _measure(connection: Connection, table: str) -> None:
    """Tell PostgreSQL how small a temporary table is; left to guess, it reads whole tables for one trace."""
    if connection.dialect.name == "postgresql":
        run_sql(connection, f"ANALYZE {table}")


def _curate(connection: Connection, policy: Policy, chosen: str, bounds: dict[str, object], scope: Scope) -> Changes:
    """Judge, keep the verdicts that differ from what stands in the dataset, and write what follows from them."""
    plan = statements(policy, dialect_of(connection), chosen, scope)
    params = plan.params | bounds | {"now": now()}
    run_sql(connection, CREATE_VERDICTS)
    run_sql(connection, "DELETE FROM curation_verdicts")
    # Only verdicts that differ from the dataset land in the temporary table; all further statements read it.
    connection.execute(plan.judge, params)
    # Counted before anything is written: nothing follows from a batch in which no verdict differs.
    changes = _count_changes(run_sql(connection, COUNTED.format("curation_verdicts")))
    if not changes.by_kind:
        return changes
    _measure(connection, "curation_verdicts")
    # What the revision said is kept, so that its name can still be explained when its file has changed.
    row = {"name": policy.name, "rev": policy.rev, "body": dumps(policy.model_dump(mode="json"))}
    insert_new(connection, policies, [row])
    if "added" in changes.by_kind:
        for statement in plan.first:
            connection.execute(statement, params)
    if not changes.by_kind.keys().isdisjoint(("questioned", "settled")):
        connection.execute(plan.ask, params)
    # Most batches only add; the update would scan for nothing.
    if set(changes.by_kind) != {"added"}:
        connection.execute(plan.update, params)
        if plan.forget_tags is not None:
            connection.execute(plan.forget_tags)
    connection.execute(plan.revise, params)
    for statement in plan.tag:
        connection.execute(statement, params)
    return changes


def changed_entries(connection: Connection) -> list[tuple[int, str]]:
    """The entries (and their traces) that the last curation on this connection gave a place."""
    rows = run_sql(connection, f"SELECT v.entry, v.trace_id FROM {KEPT_VERDICTS} AND v.entry IS NOT NULL")
    return [(row[0], row[1]) for row in rows]


def put_tags(connection: Connection, entry: int, tags: Iterable[str]) -> None:
    rows = [{"dataset_id": entry, "tag": tag} for tag in sorted(set(tags)) if tag]
    insert_new(connection, eval_dataset_tags, rows)


SHOWN = 50


def newest_number(connection: Connection) -> int:
    """Give the number of the newest change; 0 where nobody has changed anything."""
    return read_value(connection, "SELECT max(id) FROM rule_changes") or 0


def changes_of_rules(connection: Connection, most: int = SHOWN) -> list[RulesChange]:
    """List the changes, newest first."""
    rows = run_sql(connection, "SELECT * FROM rule_changes ORDER BY id DESC LIMIT :most", most=most).mappings()
    return [RulesChange.model_validate({**row, "number": row["id"], "rules": loads(row["body"])}) for row in rows]


def keep_rules(connection: Connection, chosen: NewRules, who: str) -> None:
    """Store a change, unless somebody stored one since the rules it was made from."""
    held = newest_number(connection)
    if held != chosen.base:
        raise Conflict(
            f"the rules were changed meanwhile (change {held}, yours began at {chosen.base}); read them again, then save"
        )
    row = {"body": chosen.rules.model_dump_json(), "who": who, "why": chosen.why, "created_at": now()}
    connection.execute(insert(rule_changes), row)


def requeue_all(connection: Connection) -> None:
    """Queue every trace for curation."""
    run_sql(connection, "INSERT INTO curation_queue (trace_id) SELECT id FROM traces WHERE true ON CONFLICT DO NOTHING")
