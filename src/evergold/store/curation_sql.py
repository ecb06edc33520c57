"""The statements that bring entries up to date with their verdicts, written once for each policy and kept.

They pass one temporary table on, `curation_verdicts`: the verdicts that differ from what stands in the dataset. Writing
and reading the text of these statements would take longer than curating one trace with them, so they are built once.
"""

from collections.abc import Iterator
from functools import lru_cache

from sqlalchemy import TextClause, text

from evergold.model.policy import Policy, Reason, Sampling, Tier
from evergold.store.values import dumps
from evergold.store.verdict_dialects import POSTGRES, Dialect
from evergold.store.verdict_sql import CODE, TIER_OF, Scope, VerdictQuery

FAILING = ", ".join(str(CODE[reason]) for reason, tier in TIER_OF.items() if tier is Tier.FAILURE)
CONFIRMED = CODE[Reason.CONFIRMED]
CANDIDATE = ", ".join(str(CODE[reason]) for reason, tier in TIER_OF.items() if tier is Tier.CANDIDATE)
# Reasons to keep a trace out that say something about its reply: with them a validated entry is worth another look.
AGAINST = ", ".join(
    str(CODE[reason])
    for reason in (Reason.SYSTEM_BETWEEN, Reason.USER_BETWEEN, Reason.TRACE_FAILED, Reason.NO_OUTPUT, Reason.FALLBACK)
)

ENTRY_TYPE = f"CASE WHEN v.reason IN ({FAILING}) THEN 'failure' ELSE 'golden' END"
TIER = (
    f"CASE WHEN v.reason IN ({FAILING}) THEN 'failure' WHEN v.reason = {CONFIRMED} THEN 'confirmed' "
    f"WHEN v.reason IN ({CANDIDATE}) THEN 'candidate' ELSE 'none' END"
)
# Tiers as numbers, so that "from this to that" is one comparison: none 0, failure 1, candidate 2, confirmed 3.
NOW = f"CASE WHEN reason IN ({FAILING}) THEN 1 WHEN reason IN ({CANDIDATE}) THEN 2 WHEN reason = {CONFIRMED} THEN 3 ELSE 0 END"
WAS = """CASE WHEN coalesce(was_status, '') <> 'active' THEN 0 WHEN was_type = 'failure' THEN 1
      WHEN was_confirmed = 0 THEN 2 ELSE 3 END"""
# Tens: what it was, ones: what it is. 23 is a candidate that became confirmed.
STEPS = {
    "withdrawn": (10, 20, 30),
    "failed": (21, 31),
    "recovered": (12, 13),
    "confirmed": (23,),
    "unconfirmed": (32,),
}
STEP = " ".join(
    f"WHEN was * 10 + tier IN ({', '.join(map(str, steps))}) THEN '{kind}'" for kind, steps in STEPS.items()
)
CHECKED = CODE[Reason.CHECKED]
NAMED = " ".join(f"WHEN {code} THEN '{reason.name.lower()}'" for reason, code in CODE.items())
# What speaks against a person's word, so that the same thing is asked once: the verdict, and how many have spoken.
ASKED = f"""CASE WHEN stands = 1
        AND ((was >= 2 AND (tier = 1 OR (tier = 0 AND reason IN ({AGAINST})))) OR (was = 1 AND tier >= 2))
      THEN CASE reason {NAMED} END || ':' || CAST(voices AS text) ELSE '' END"""
SHARE = "CASE tier WHEN 1 THEN :share_failure WHEN 2 THEN :share_candidate ELSE :share_confirmed END"
COMPARED = f"""
    SELECT trace_id, reason, entry, CASE was {" ".join(f"WHEN {n} THEN '{t.value}'" for n, t in enumerate(Tier))} END AS was,
      CASE
      WHEN stands = 1 AND was > 0 THEN
        CASE WHEN asked = was_question THEN NULL WHEN asked = '' AND was_question LIKE 'grew:%' THEN NULL
          WHEN asked = '' THEN 'settled' WHEN asked = was_answered THEN NULL
          ELSE 'questioned' END
      WHEN stands = 1 AND entry IS NOT NULL THEN NULL
      WHEN tier = was THEN
        CASE WHEN was = 0 THEN NULL WHEN stale = 1 THEN 'refreshed' WHEN was_dataset <> :dataset THEN 'moved'
          WHEN reason <> {CHECKED} AND was_included <> {SHARE} THEN 'reweighed' WHEN mistagged = 1 THEN 'retagged' END
      WHEN entry IS NULL THEN 'added'
      WHEN was_status IN ('dismissed', 'erased') THEN NULL
      {STEP} ELSE 'restored' END AS change,
      coalesce(was_version, 0) + 1 AS version, was_rev, was_included, was_dataset, seq, message_type, model, tags, asked
    FROM (SELECT y.*, {ASKED} AS asked
      FROM (SELECT x.*, {WAS} AS was, {NOW} AS tier FROM ({{verdicts}}) AS x {{fence}}) AS y) AS v"""

CREATE_VERDICTS = """
    CREATE TEMPORARY TABLE IF NOT EXISTS curation_verdicts (trace_id TEXT NOT NULL, reason INTEGER NOT NULL, entry INTEGER,
      was TEXT NOT NULL, change TEXT NOT NULL, version INTEGER NOT NULL, was_rev TEXT, was_included FLOAT,
      was_dataset TEXT, seq INTEGER, message_type TEXT, model TEXT, tags TEXT NOT NULL, asked TEXT NOT NULL)"""
QUESTIONS = "('questioned', 'settled')"
COUNTED = f"SELECT change, {TIER}, count(*), min(trace_id) FROM {{}} AS v WHERE change IS NOT NULL GROUP BY 1, 2"

BODY = (
    f"CASE WHEN v.reason IN ({FAILING}) THEN CAST(:body_failure AS text) "
    f"WHEN v.reason = {CONFIRMED} THEN CAST(:body_confirmed AS text) ELSE CAST(:body_candidate AS text) END"
)
INSERT = f"""
    INSERT INTO eval_dataset (trace_id, entry_type, input_text, output_text, metadata, dataset, case_id, body,
      session_id, user_id, policy, policy_rev, confirmed, created_at, updated_at)
    SELECT v.trace_id, {ENTRY_TYPE}, t.input_text, t.output_text,
      CASE WHEN v.reason IN ({FAILING}) THEN '{{}}' WHEN v.reason = {CONFIRMED} THEN CAST(:said_confirmed AS text)
        ELSE CAST(:said_candidate AS text) END,
      :dataset, CAST(:policy AS text) || ':' || v.trace_id, {BODY}, t.session_id, t.user_id, :policy, :rev,
      CASE WHEN v.reason = {CONFIRMED} THEN 1 ELSE 0 END, :now, :now
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
        self.params = query.params | {
            "dataset": policy.dataset,
            "who": f"policy {policy.label}",
            "said_failure": dumps({"confirmed": None}),
            "said_candidate": dumps({"confirmed": False}),
            "said_confirmed": dumps({"confirmed": True}),
        }
        self.params |= {f"share_{tier.value}": policy.sample.rate(tier) for tier in Tier if tier is not Tier.NONE}
        self.params |= {f"body_{tier.value}": _body(policy.sample, tier) for tier in Tier if tier is not Tier.NONE}
        self.params |= {f"why_{code}": policy.explain(reason) for reason, code in CODE.items()}


@lru_cache(maxsize=64)
def statements(policy: Policy, dialect: Dialect, chosen: str, scope: Scope) -> Statements:
    return Statements(policy, dialect, chosen, scope)


def _body(sample: Sampling, tier: Tier) -> str:
    return dumps({"provenance": {"source": "policy", "inclusion_probability": sample.rate(tier)}})


def _update(dialect: Dialect) -> str:
    """A withdrawn entry keeps its type; its status says that it no longer takes part."""
    verdict_patch = (
        f"CASE WHEN v.reason IN ({FAILING}) THEN CAST(:said_failure AS text) "
        f"WHEN v.reason = {CONFIRMED} THEN CAST(:said_confirmed AS text) ELSE CAST(:said_candidate AS text) END"
    )
    gone = "v.change = 'withdrawn'"
    metadata = dialect.merged.format(column="metadata", patch=verdict_patch)
    body = dialect.merged.format(column="body", patch=BODY)
    text_of = "CASE WHEN v.change = 'refreshed' THEN t.{0} ELSE eval_dataset.{0} END"
    return f"""
        UPDATE eval_dataset SET
          entry_type = CASE WHEN {gone} THEN entry_type ELSE {ENTRY_TYPE} END,
          confirmed = CASE WHEN {gone} THEN confirmed WHEN v.reason = {CONFIRMED} THEN 1 ELSE 0 END,
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
    before = """CASE WHEN v.was_rev IS NULL THEN '' ELSE ',"before":{"policy_rev":"' || v.was_rev
            || '","inclusion_probability":' || coalesce(CAST(v.was_included AS text), 'null')
            || ',"dataset":' || WAS_DATASET || '}' END""".replace(
        "WAS_DATASET", query.dialect.quoted.format("v.was_dataset")
    )
    return f"""
        INSERT INTO case_revisions (entry_id, version, action, who, why, evidence, created_at)
        SELECT v.entry, v.version, v.change, :who, CASE v.reason {why} END,
          '{{"was":"' || v.was || '","is":"' || {TIER} || '"' || {before} || ',"scores":' || {query.deciding()} || '}}', :now
        FROM curation_verdicts v WHERE v.entry IS NOT NULL AND v.change NOT IN {QUESTIONS}
        ON CONFLICT DO NOTHING"""


TAG_INTO = "INSERT INTO eval_dataset_tags (dataset_id, tag)"
KEPT_VERDICTS = "curation_verdicts v WHERE v.change NOT IN ('withdrawn', 'questioned', 'settled')"
STALE_TAGS = (
    "DELETE FROM eval_dataset_tags WHERE tag LIKE 'failed:%' AND dataset_id IN "
    "(SELECT entry FROM curation_verdicts WHERE change NOT IN ('added', 'withdrawn', 'questioned', 'settled'))"
)


def _tags(policy: Policy, query: VerdictQuery) -> Iterator[str]:
    """What gives entries their tags: the trace's own, then each kind the policy asks for."""
    each = (
        "json_array_elements_text(v.tags::json) AS item(value)"
        if query.dialect is POSTGRES
        else "json_each(v.tags) AS item"
    )
    listed = KEPT_VERDICTS.replace(" WHERE", f" CROSS JOIN {each} WHERE")
    yield f"SELECT v.entry, item.value FROM {listed} AND v.tags <> '[]' AND item.value <> ''"
    made = {
        "message_type": f"SELECT v.entry, v.message_type FROM {KEPT_VERDICTS} AND v.message_type <> ''",
        "model": f"SELECT v.entry, 'model:' || v.model FROM {KEPT_VERDICTS} AND v.model <> ''",
        "tool": f"SELECT v.entry, 'tool:' || s.name FROM {_joined('spans', 's.trace_seq = v.seq')} "
        "AND s.kind = 'tool' AND s.name <> ''",
        "failed_check": f"SELECT v.entry, 'failed:' || s.name FROM {_joined('trace_scores', 's.trace_id = v.trace_id')} "
        f"AND v.reason IN ({FAILING}) AND s.value < :low AND {query.system} AND {query.heeded}",
    }
    yield from (statement for kind, statement in made.items() if kind in policy.tags)


def _joined(table: str, same: str) -> str:
    """The changed rows with theirs of another table; `CROSS JOIN` keeps SQLite from scanning that table first."""
    return KEPT_VERDICTS.replace(" WHERE", f" CROSS JOIN {table} s WHERE {same} AND")
