"""The tier table as one SELECT: the verdict of a policy on many traces at once, for SQLite and PostgreSQL.

`curate/classify.py` is the same table in Python, for one trace and for people; a property test runs both on the same
scores. The reason alone is computed here, because the tier follows from it. Every number and text of the policy is a
bound parameter; only names of columns and the shape of the query depend on it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from evergold.model.ident import UNIT_HEX_DIGITS, unit_interval
from evergold.model.policy import BLANKS, Eligibility, JudgeRole, Policy, Reason, Sampling, Tier

CODE = {reason: number for number, reason in enumerate(Reason)}
TIER_OF = {
    Reason.FAILED_CHECK: Tier.FAILURE,
    Reason.USER_NEGATIVE: Tier.FAILURE,
    Reason.CORRECTED: Tier.FAILURE,
    Reason.CONFIRMED: Tier.CONFIRMED,
    Reason.CANDIDATE: Tier.CANDIDATE,
}
PEOPLE = "'user', 'human'"

# Whether the trace says something else by now than an entry that nobody but its policy has touched.
STALE = """CASE WHEN d.id IS NOT NULL AND d.review = 'unvalidated'
                  AND (d.input_text <> t.input_text OR coalesce(d.output_text, '') <> coalesce(t.output_text, ''))
                  AND NOT EXISTS (SELECT 1 FROM case_revisions r WHERE r.entry_id = d.id AND r.who NOT LIKE 'policy %')
                THEN 1 ELSE 0 END"""


@dataclass(frozen=True)
class Dialect:
    """The few things the two databases say differently."""

    trim: str
    quoted: str
    joined: str
    unit: str
    metadata_text: str
    merged: str


SQLITE = Dialect(
    trim="trim",
    quoted="json_quote({})",
    joined="group_concat({}, ',')",
    unit="unit_interval({})",
    metadata_text="json_extract(t.metadata, {path}) IN ({allowed})",
    merged="json_patch(eval_dataset.{column}, {patch})",
)
POSTGRES = Dialect(
    trim="btrim",
    quoted="to_json({}::text)::text",
    joined="string_agg({}, ',')",
    unit=f"(('x' || substr(md5({{}}), 1, {UNIT_HEX_DIGITS}))::bit({4 * UNIT_HEX_DIGITS})::bigint::float8 "
    f"/ {16**UNIT_HEX_DIGITS}::float8)",
    metadata_text="(jsonb_typeof(t.metadata::jsonb #> {path}) = 'string' AND t.metadata::jsonb #>> {path} IN ({allowed}))",
    merged="((eval_dataset.{column}::jsonb - 'confirmed') || jsonb_strip_nulls(({patch})::jsonb))::text",
)


def dialect_of(connection: Connection) -> Dialect:
    """The dialect of a connection, which on SQLite is first taught the hash that sampling goes by."""
    if connection.dialect.name == "postgresql":
        return POSTGRES
    driver: Any = connection.connection.driver_connection
    driver.create_function("unit_interval", 1, unit_interval, deterministic=True)
    return SQLITE


class VerdictQuery:
    """The SELECT of one policy over the traces that `chosen` names (a condition on the column `trace_id`)."""

    def __init__(self, policy: Policy, dialect: Dialect, chosen: str) -> None:
        self.policy, self.dialect, self.chosen = policy, dialect, chosen
        self.params: dict[str, object] = {
            "low": policy.thresholds.failure_below,
            "high": policy.thresholds.golden_from,
            "policy": policy.name,
            "blanks": BLANKS,
        }
        judged = ", 'llm_judge'" if policy.llm_judge is JudgeRole.SYSTEM else ""
        self.system = f"source IN ('system'{judged})"
        self.part = f"source IN ('system', {PEOPLE}{judged})"
        if policy.ignore:
            self.part += f" AND name NOT IN ({self._bind('ignored', policy.ignore)})"

    def _bind(self, stem: str, values: tuple[str, ...]) -> str:
        names = [f"{stem}_{number}" for number in range(len(values))]
        self.params |= dict(zip(names, values, strict=True))
        return ", ".join(f":{name}" for name in names)

    def sql(self) -> str:
        """Columns: trace_id, reason; the entry there is already (entry, was_type, was_confirmed, was_status,
        was_version, stale); where the trace lies (seq); and what tags are made of (message_type, model, tags).

        `judged` is materialised, so that the reason is worked out once, however often it is asked for.
        """
        chosen, part = self.chosen, self.part
        return f"""
            WITH tally AS (
              SELECT trace_id,
                min(CASE WHEN {self.system} THEN value END) AS worst_system,
                min(CASE WHEN source IN ({PEOPLE}) THEN value END) AS worst_user,
                max(CASE WHEN source IN ({PEOPLE}) THEN value END) AS best_user
              FROM trace_scores WHERE {chosen} AND {part} GROUP BY trace_id
            ), judged AS MATERIALIZED (
              SELECT tally.trace_id, CASE {" ".join(self._rules())} END AS reason,
                d.id AS entry, d.entry_type AS was_type, d.confirmed AS was_confirmed, d.status AS was_status,
                d.version AS was_version, {STALE} AS stale,
                t.seq, t.message_type, t.model, t.tags, {self._point()} AS point
              FROM tally JOIN traces t ON t.id = tally.trace_id
              LEFT JOIN eval_dataset d ON d.trace_id = tally.trace_id AND d.policy = :policy
            )
            SELECT trace_id, {self._sampled()} AS reason,
              entry, was_type, was_confirmed, was_status, was_version, stale, seq, message_type, model, tags
            FROM judged
            UNION ALL
            SELECT trace_id, {CODE[Reason.NO_SCORES]}, id, entry_type, confirmed, status, version, 0, NULL, NULL, NULL, '[]'
            FROM eval_dataset WHERE {chosen} AND policy = :policy
              AND NOT EXISTS (SELECT 1 FROM trace_scores WHERE trace_id = eval_dataset.trace_id AND {part})"""

    def deciding(self) -> str:
        """The scores that decided the verdict of a row `v`, as a JSON list."""
        wanted = {
            Reason.FAILED_CHECK: "value < :low",
            Reason.USER_NEGATIVE: "value < :low",
            Reason.CONFIRMED: f"({self.system} OR value >= :high)",
            Reason.CANDIDATE: self.system,
            Reason.NO_SYSTEM: f"source IN ({PEOPLE})",
            Reason.SYSTEM_BETWEEN: f"{self.system} AND value < :high",
            Reason.USER_BETWEEN: f"source IN ({PEOPLE})",
        }
        cases = " OR ".join(f"(v.reason = {CODE[reason]} AND {rule})" for reason, rule in wanted.items())
        item = (
            f"""'{{"name":' || {self.dialect.quoted.format("name")} || ',"source":"' || source """
            """|| '","value":' || value || '}'"""
        )
        return (
            f"'[' || coalesce((SELECT {self.dialect.joined.format(item)} FROM trace_scores "
            f"WHERE trace_id = v.trace_id AND {self.part} AND ({cases})), '') || ']'"
        )

    def _rules(self) -> Iterator[str]:
        """The reason, rule by rule. What keeps a trace out comes before the tier it would have had."""
        golden = "worst_system >= :high AND (best_user IS NULL OR best_user >= :high)"
        failed = "(worst_system < :low OR worst_user < :low)"
        reply = f"{self.dialect.trim}(coalesce(t.output_text, ''), :blanks)"
        if self.policy.eligible != Eligibility():
            yield f"WHEN ({failed} OR {golden}) AND NOT ({self._eligible()}) THEN {CODE[Reason.INELIGIBLE]}"
        yield f"WHEN worst_system < :low THEN {CODE[Reason.FAILED_CHECK]}"
        yield f"WHEN worst_user < :low THEN {CODE[Reason.USER_NEGATIVE]}"
        yield f"WHEN worst_system IS NULL THEN {CODE[Reason.NO_SYSTEM]}"
        yield f"WHEN worst_system < :high THEN {CODE[Reason.SYSTEM_BETWEEN]}"
        yield f"WHEN best_user < :high THEN {CODE[Reason.USER_BETWEEN]}"
        yield f"WHEN t.status = 'failed' THEN {CODE[Reason.TRACE_FAILED]}"
        yield f"WHEN {reply} = '' THEN {CODE[Reason.NO_OUTPUT]}"
        if fallbacks := list(self._fallbacks(reply)):
            yield f"WHEN {' OR '.join(fallbacks)} THEN {CODE[Reason.FALLBACK]}"
        corrections = "SELECT 1 FROM trace_corrections c WHERE c.trace_id = tally.trace_id"
        yield f"WHEN EXISTS ({corrections}) THEN {CODE[Reason.CORRECTED]}"
        yield f"WHEN best_user IS NULL THEN {CODE[Reason.CANDIDATE]} ELSE {CODE[Reason.CONFIRMED]}"

    def _sampled(self) -> str:
        """The reason, unless the trace is outside the sample of its tier."""
        rules = []
        for reason, tier in TIER_OF.items():
            if (rate := self.policy.sample.rate(tier)) < 1:
                self.params[f"rate_{CODE[reason]}"] = rate
                outside = f"reason = {CODE[reason]} AND point >= :rate_{CODE[reason]}"
                rules.append(f"WHEN {outside} THEN {CODE[Reason.NOT_SAMPLED]}")
        return f"CASE {' '.join(rules)} ELSE reason END" if rules else "reason"

    def _fallbacks(self, reply: str) -> Iterator[str]:
        """Whole texts, then openings; openings are first compared by as many signs as the shortest has."""
        exact = tuple(text for text in self.policy.fallback_texts if not text.endswith("*"))
        openings = tuple(text[:-1] for text in self.policy.fallback_texts if text.endswith("*"))
        if exact:
            yield f"{reply} IN ({self._bind('fallback', exact)})"
        if openings:
            shortest = min(map(len, openings))
            heads = self._bind("head", tuple(sorted({text[:shortest] for text in openings})))
            names = self._bind("opening", openings).split(", ")
            whole = " OR ".join(
                f"substr({reply}, 1, {len(text)}) = {name}" for name, text in zip(names, openings, strict=True)
            )
            yield f"(substr({reply}, 1, {shortest}) IN ({heads}) AND ({whole}))"

    def _eligible(self) -> str:
        return " AND ".join(self._conditions()) or "true"

    def _conditions(self) -> Iterator[str]:
        rules = self.policy.eligible
        if rules.names:
            yield f"t.name IN ({self._bind('name', rules.names)})"
        if rules.users:
            yield f"coalesce(t.user_id, '') IN ({self._bind('user', rules.users)})"
        if rules.exclude_users:
            yield f"coalesce(t.user_id, '') NOT IN ({self._bind('not_user', rules.exclude_users)})"
        if rules.min_input_chars:
            yield f"length(t.input_text) >= {rules.min_input_chars}"
        for number, (key, allowed) in enumerate(sorted(rules.metadata.items())):
            on_sqlite = self.dialect is SQLITE
            self.params[f"path_{number}"] = f'$."{key}"' if on_sqlite else f'{{"{key}"}}'
            path = f":path_{number}" if on_sqlite else f"CAST(:path_{number} AS text[])"
            found = self.dialect.metadata_text.format(path=path, allowed=self._bind(f"meta_{number}", allowed))
            yield f"coalesce({found}, false)"

    def _point(self) -> str:
        if self.policy.sample == Sampling():
            return "0"
        self.params["salt"] = f"{self.policy.name}:"
        return self.dialect.unit.format("CAST(:salt AS text) || t.id")
