"""Topics in the tables: which trace and case belongs to which, what they count, and the problems in them.

A member is sorted by the hash of its question, so a question that comes again needs no look at its text. Traces are taken in
the order of arrival, some way behind the last that was taken too: PostgreSQL gives numbers out of the order of commits,
and a trace that is made of spans is left alone until nothing has come for a while.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection

from evergold.errors import NotFound
from evergold.model.run import MetricSpec
from evergold.store.database.rows import dumps, loads, now, read_column, read_value, run_for_each, run_sql, tuples_among
from evergold.store.facts import fact, put_fact
from evergold.store.schema import EVIDENCE, FAILING

AT_ONCE = 2_000  # members of one transaction
BEHIND = 10_000  # arrivals before the last that was taken, among which late ones are looked for
LETTERS = 1_000  # of a question that are read
COVERAGE = "upkeep.coverage"  # the fact that holds the last figures of coverage and drift
UPTO = {"trace": "topics.traces_upto", "case": "topics.cases_upto"}
NEW = {
    "trace": f"""SELECT t.seq, t.id, substr(t.input_text, 1, {LETTERS}) FROM traces t
        LEFT JOIN trace_topics m ON m.trace_id = t.id WHERE t.seq > :after AND m.trace_id IS NULL
        AND (t.content_hash IS NOT NULL OR t.received_at < :settled) ORDER BY t.seq LIMIT {AT_ONCE}""",
    "case": f"""SELECT e.id, e.id, substr(e.input_text, 1, {LETTERS}) FROM eval_dataset e
        LEFT JOIN case_topics m ON m.entry_id = e.id WHERE e.id > :after AND m.entry_id IS NULL
        ORDER BY e.id LIMIT {AT_ONCE}""",
}
KEY = {"trace": "trace_id", "case": "entry_id"}
MEMBERS = ("trace_topics", "case_topics")
FAILURE = "e.status = 'active' AND e.entry_type IN ('failure', 'correction')"
GOLDEN = "e.status = 'active' AND e.entry_type = 'golden'"
CANDIDATE = f"({EVIDENCE.replace('eval_dataset.', 'e.')}) = 'silence'"


class AskedQuestion(NamedTuple):
    """A question by its hash, and how it was put once."""

    hash: str
    text: str
    topic: int | None


class TopicRow(NamedTuple):
    id: int
    name: str
    decided: str
    merged_into: int | None
    centre: str


def take_new(connection: Connection, kind: str, settled: str) -> list[tuple[int, Any, str]]:
    """List some traces or cases that have no topic yet: number, key, question."""
    after = int(fact(connection, UPTO[kind]) or 0) - BEHIND
    given = {"settled": settled} if kind == "trace" else {}
    return [(row[0], row[1], row[2] or "") for row in run_sql(connection, NEW[kind], after=after, **given)]


def put_members(connection: Connection, kind: str, rows: Sequence[Mapping[str, Any]], upto: int) -> None:
    """Note the topic of traces or cases, up to one number of them; what was deleted meanwhile is left out."""
    table = "traces" if kind == "trace" else "eval_dataset"
    there = f"SELECT id, CAST(:question AS text), CAST(:topic AS integer) FROM {table} WHERE id = :key"
    statement = f"INSERT INTO {kind}_topics ({KEY[kind]}, question, topic) {there} ON CONFLICT DO NOTHING"
    run_for_each(connection, statement, rows)
    if upto > int(fact(connection, UPTO[kind]) or 0):
        put_fact(connection, UPTO[kind], str(upto))


def topics_of_questions(connection: Connection, hashes: Iterable[str]) -> dict[str, int | None]:
    """Look up the topics of questions that came before."""
    known: dict[str, int | None] = {}
    for table in MEMBERS:
        known |= dict(tuples_among(connection, f"SELECT question, topic FROM {table} WHERE question", hashes))
    return known


def count_questions(connection: Connection, loose: bool = False) -> int:
    """Count the different questions of traces; only those without a topic where asked for."""
    where = "WHERE topic IS NULL AND question <> ''" if loose else "WHERE question <> ''"
    return int(read_value(connection, f"SELECT count(DISTINCT question) FROM trace_topics {where}"))


def questions_after(connection: Connection, after: str, most: int, which: str = "true") -> list[AskedQuestion]:
    """Read different questions in the order of their hashes, which is as good as a draw."""
    listed: dict[str, AskedQuestion] = {}
    for table, source, key in zip(MEMBERS, ("traces", "eval_dataset"), KEY.values(), strict=True):
        query = f"""SELECT m.question, max(m.{key}), max(m.topic) FROM {table} m
            WHERE m.question > :after AND {which} GROUP BY m.question ORDER BY m.question LIMIT :most"""
        rows = {row[1]: (row[0], row[2]) for row in run_sql(connection, query, after=after, most=most)}
        texts = f"SELECT id, substr(input_text, 1, {LETTERS}) FROM {source} WHERE id"
        for member, asked in tuples_among(connection, texts, list(rows)):
            question, topic = rows[member]
            listed[question] = AskedQuestion(question, asked, topic)
    return [listed[name] for name in sorted(listed)[:most]]


def set_topics(connection: Connection, chosen: Mapping[str, int | None]) -> None:
    """Give questions another topic."""
    rows = [{"question": question, "topic": topic} for question, topic in chosen.items()]
    for table in MEMBERS:
        run_for_each(connection, f"UPDATE {table} SET topic = :topic WHERE question = :question", rows)


def read_topics(connection: Connection) -> list[TopicRow]:
    """Read every topic, also those that were merged into others."""
    query = "SELECT id, name, decided, merged_into, centre FROM topics ORDER BY id"
    return [TopicRow(*row) for row in run_sql(connection, query)]


def get_topic(connection: Connection, topic: int) -> TopicRow:
    """Read one topic that still has members of its own."""
    row = next((one for one in read_topics(connection) if one.id == topic and one.merged_into is None), None)
    if row is None:
        raise NotFound(f"no topic {topic}; `evergold topics` lists them")
    return row


def add_topic(connection: Connection, name: str, centre: str, decided: str = "") -> int:
    statement = (
        "INSERT INTO topics (name, centre, decided, created_at) VALUES (:name, :centre, :decided, :now) RETURNING id"
    )
    return int(read_value(connection, statement, name=name, centre=centre, decided=decided, now=now()))


def change_topics(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write names and centres of topics; the name of one that a person decided on stays."""
    name = "CASE WHEN decided = '' THEN :name ELSE name END"
    statement = f"UPDATE topics SET centre = :centre, name = {name} WHERE id = :id"
    run_for_each(connection, statement, rows)


def rename_topic(connection: Connection, topic: int, name: str, who: str) -> None:
    """Give a topic the name that a person chose."""
    get_topic(connection, topic)
    run_sql(connection, "UPDATE topics SET name = :name, decided = :who WHERE id = :id", name=name, who=who, id=topic)


def merge_topics(connection: Connection, parts: Sequence[int], into: int, centre: str, who: str) -> None:
    """Make topics parts of another."""
    for topic in (*parts, into):
        get_topic(connection, topic)
    keep = "UPDATE topics SET decided = :who, centre = :centre WHERE id = :id"
    run_sql(connection, keep, who=who, centre=centre, id=into)
    merge = "UPDATE topics SET merged_into = :into, decided = :who, centre = '' WHERE id = :id OR merged_into = :id"
    for topic in parts:
        run_sql(connection, merge, into=into, who=who, id=topic)
        for table in MEMBERS:
            run_sql(connection, f"UPDATE {table} SET topic = :into WHERE topic = :id", into=into, id=topic)


def decide_topic(connection: Connection, topic: int, who: str) -> None:
    run_sql(connection, "UPDATE topics SET decided = :who WHERE id = :id", who=who, id=topic)


class TopicCounts(NamedTuple):
    traces: int = 0
    failures: int = 0
    golden: int = 0
    candidates: int = 0


def count_topics(connection: Connection, since: str = "") -> dict[int, TopicCounts]:
    """Count traces and failures since then, and all golden cases and candidates, by topic."""
    recent = "JOIN traces t ON t.id = m.trace_id AND t.started_at >= :since" if since else ""
    given = {"since": since} if since else {}
    traces = f"SELECT m.topic, count(*) FROM trace_topics m {recent} WHERE m.topic IS NOT NULL GROUP BY m.topic"
    failures = f"""SELECT m.topic, count(DISTINCT e.trace_id) FROM eval_dataset e JOIN trace_topics m ON m.trace_id = e.trace_id
        {recent} WHERE {FAILURE} AND m.topic IS NOT NULL GROUP BY m.topic"""
    cases = f"""SELECT m.topic, sum(CASE WHEN {CANDIDATE} THEN 0 ELSE 1 END), sum(CASE WHEN {CANDIDATE} THEN 1 ELSE 0 END)
        FROM eval_dataset e JOIN case_topics m ON m.entry_id = e.id WHERE {GOLDEN} AND m.topic IS NOT NULL GROUP BY m.topic"""
    counts: defaultdict[int, TopicCounts] = defaultdict(TopicCounts)
    for topic, number in run_sql(connection, traces, **given):
        counts[topic] = TopicCounts(traces=int(number))
    for topic, number in run_sql(connection, failures, **given):
        counts[topic] = counts[topic]._replace(failures=int(number))
    for topic, golden, candidates in run_sql(connection, cases):
        counts[topic] = counts[topic]._replace(golden=int(golden), candidates=int(candidates))
    return dict(counts)


def members_of(connection: Connection, topic: int, most: int, *, without_cases: bool = False) -> list[str]:
    """List traces of a topic, the newest first; only whole ones that no active case was made of where asked for."""
    free = """AND t.incomplete = '' AND NOT EXISTS (SELECT 1 FROM eval_dataset e
        WHERE e.trace_id = t.id AND e.status = 'active')"""
    query = f"""SELECT t.id FROM trace_topics m JOIN traces t ON t.id = m.trace_id WHERE m.topic = :topic
        {free if without_cases else ""} ORDER BY t.seq DESC LIMIT :most"""
    return read_column(connection, query, topic=topic, most=most)


class TopicTrace(NamedTuple):
    """A trace of the traffic: when it began, its topic (None: of none) and its session, or itself where it has none."""

    started_at: str
    topic: int | None
    session: str


def traffic_of_topics(connection: Connection, since: str, most: int) -> list[TopicTrace]:
    """Read the newest traces since then that ask something, the newest first."""
    query = """SELECT t.started_at, m.topic, coalesce(t.session_id, t.id) FROM traces t JOIN trace_topics m ON m.trace_id = t.id
        WHERE t.started_at >= :since AND m.question <> '' ORDER BY t.started_at DESC LIMIT :most"""
    return [TopicTrace(*row) for row in run_sql(connection, query, since=since, most=most)]


def traffic_by_day(connection: Connection, since: str) -> list[tuple[str, int | None, int]]:
    """Count traces that ask something by day and topic."""
    query = """SELECT substr(t.started_at, 1, 10), m.topic, count(*) FROM traces t JOIN trace_topics m ON m.trace_id = t.id
        WHERE t.started_at >= :since AND m.question <> '' GROUP BY 1, 2"""
    return [(row[0], row[1], int(row[2])) for row in run_sql(connection, query, since=since)]


def newest_start(connection: Connection) -> str | None:
    """When the newest trace began."""
    return cast("str | None", read_value(connection, "SELECT max(started_at) FROM traces"))


class AskedTrace(NamedTuple):
    """A trace that asks something: when it began, its question, its topic (None: of none), and why it failed."""

    trace_id: str
    started_at: str
    question: str
    topic: int | None
    reason: str = ""


def asked_since(connection: Connection, since: str, most: int) -> list[AskedTrace]:
    """Read the newest traces since then that ask something, the newest first."""
    query = f"""SELECT t.id, t.started_at, substr(t.input_text, 1, {LETTERS}), m.topic FROM traces t
        JOIN trace_topics m ON m.trace_id = t.id WHERE t.started_at >= :since AND m.question <> ''
        ORDER BY t.started_at DESC LIMIT :most"""
    return [AskedTrace(*row) for row in run_sql(connection, query, since=since, most=most)]


def failing_traces(connection: Connection, since: str, most: int) -> list[AskedTrace]:
    """Read the newest failures since then: the reason is the score that is lowest, an error, or the kind of the case."""
    query = f"""SELECT DISTINCT t.id, t.started_at, substr(t.input_text, 1, {LETTERS}), m.topic, t.status, e.entry_type
        FROM eval_dataset e JOIN traces t ON t.id = e.trace_id JOIN trace_topics m ON m.trace_id = t.id
        WHERE {FAILURE} AND m.question <> '' AND t.started_at >= :since ORDER BY t.started_at DESC, t.id LIMIT :most"""
    rows = {row[0]: row for row in run_sql(connection, query, since=since, most=most)}
    scores = f"SELECT value, name, trace_id FROM trace_scores WHERE {FAILING} AND trace_id"
    # The last one stays, which is the lowest.
    worst = {trace: name for _, name, trace in sorted(tuples_among(connection, scores, rows), reverse=True)}
    return [
        AskedTrace._make((*row[:4], worst.get(trace) or ("error" if row[4] == "failed" else row[5])))
        for trace, row in rows.items()
    ]


class ProblemRow(NamedTuple):
    """A problem with its regions: a centre, and how near to it its failures lie at least."""

    id: int
    topic: int
    reason: str
    state: str
    decided_at: str | None
    decided: str
    dataset: str
    created_at: str
    regions: tuple[tuple[str, float], ...]


def read_problems(connection: Connection) -> list[ProblemRow]:
    """Read every problem, the oldest first."""
    columns = ", ".join(ProblemRow._fields)
    return [
        ProblemRow._make((*row[:-1], tuple((centre, least) for centre, least in loads(row.regions))))
        for row in run_sql(connection, f"SELECT {columns} FROM problems ORDER BY id")
    ]


def get_problem(connection: Connection, problem: int) -> ProblemRow:
    row = next((one for one in read_problems(connection) if one.id == problem), None)
    if row is None:
        raise NotFound(f"no problem {problem}; `evergold problems` lists them")
    return row


def write_problems(connection: Connection, problems: Iterable[ProblemRow]) -> None:
    """Write problems; those without a number are new, unless another process has opened them meanwhile."""
    add = """INSERT INTO problems (topic, reason, regions, created_at) VALUES (:topic, :reason, :regions, :now)
        ON CONFLICT DO NOTHING"""
    change = """UPDATE problems SET state = :state, decided = :decided, decided_at = :decided_at, dataset = :dataset,
        regions = :regions WHERE id = :id"""
    for one in problems:
        if one.id:
            values = {name: getattr(one, name) for name in ("id", "state", "decided", "decided_at", "dataset")}
            run_sql(connection, change, regions=dumps(one.regions), **values)
        else:
            run_sql(connection, add, topic=one.topic, reason=one.reason, regions=dumps(one.regions), now=now())


def passed_run(connection: Connection, dataset: str, after: str) -> tuple[str, str] | None:
    """Find the newest completed run over all active cases of a dataset, if it began after a moment and every case passed."""
    newest = """SELECT id, metrics, started_at FROM runs WHERE status = 'completed'
        AND (dataset = :dataset OR dataset LIKE :versions) ORDER BY created_at DESC LIMIT 1"""
    run = run_sql(connection, newest, dataset=dataset, versions=f"{dataset}@%").one_or_none()
    if run is None or (run[2] or "") <= after:
        return None
    specs = {spec.name: spec for spec in map(MetricSpec.model_validate, loads(run[1]))}
    crashed = "SELECT case_id FROM attempts WHERE run_id = :run AND error IS NOT NULL"
    failing = set(read_column(connection, crashed, run=run[0]))
    passing: set[str] = set()
    measured = "SELECT case_id, metric, state, value FROM measurements WHERE run_id = :run"
    for case_id, metric, state, value in run_sql(connection, measured, run=run[0]):
        if state == "error" or (state == "scored" and specs[metric].is_failing(value)):
            failing.add(case_id)
        elif state == "scored":
            passing.add(case_id)
    query = "SELECT case_id FROM eval_dataset WHERE dataset = :dataset AND status = 'active'"
    wanted = set(read_column(connection, query, dataset=dataset))
    return (run[0], run[2]) if wanted and wanted <= passing - failing else None


def coverage_figures(connection: Connection) -> dict[str, Any]:
    """Read the figures of coverage and drift that were kept last; empty where there are none."""
    return loads(fact(connection, COVERAGE)) or {}
