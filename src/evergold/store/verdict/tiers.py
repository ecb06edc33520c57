"""The tier table as one SELECT: the verdict of a policy on many traces at once, for SQLite and PostgreSQL.

`curate/classify.py` is the same table in Python, for one trace and for people; a property test runs both on the same
scores. The reason alone is computed here, because the tier follows from it. Every number and text of the policy is a
bound parameter; only names of columns and the shape of the query depend on it.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection

from evergold.model.policy import (
    BLANKS,
    SUPPORTED_FROM,
    TAG_KINDS,
    Eligibility,
    JudgeRole,
    Policy,
    Reason,
    Sampling,
    Tier,
)
from evergold.model.trace import CHECK_KEY, PRESUMING_CHECKS
from evergold.model.values import UNIT_HEX_DIGITS
from evergold.store.conditions import APP
from evergold.store.database.rows import read_column, read_value, run_sql


@dataclass(frozen=True)
class Dialect:
    """The few things the two databases say differently. A `fence` keeps a subquery whole: what it works out once is not
    worked out again wherever it is mentioned, and nothing is written down in between."""

    trim: str
    least: str
    listed: str
    unit: str
    metadata_text: str
    merged: str
    included: str
    quoted: str
    fence: str


# `unit_interval` is a Python function that `db.py` registers with each connection.
SQLITE = Dialect(
    trim="trim",
    least="min",
    listed="json_group_array(json_object('name', name, 'source', source, 'value', value))",
    unit="unit_interval({})",
    metadata_text="EXISTS (SELECT 1 FROM json_each(t.metadata) m WHERE m.key = {key} AND m.type = 'text' "
    "AND m.value IN ({allowed}))",
    merged="json_patch(eval_dataset.{column}, {patch})",
    included="json_extract({}, '$.provenance.inclusion_probability')",
    quoted="json_quote({})",
    fence="LIMIT -1",
)
POSTGRES = Dialect(
    trim="btrim",
    least="least",
    listed="coalesce(json_agg(json_build_object('name', name, 'source', source, 'value', value))::text, '[]')",
    unit=f"(('x' || substr(md5({{}}), 1, {UNIT_HEX_DIGITS}))::bit({4 * UNIT_HEX_DIGITS})::bigint::float8 "
    f"/ {16**UNIT_HEX_DIGITS}::float8)",
    metadata_text="(jsonb_typeof(t.metadata::jsonb -> CAST({key} AS text)) = 'string' "
    "AND t.metadata::jsonb ->> CAST({key} AS text) IN ({allowed}))",
    # `json_patch` removes keys whose new value is null; PostgreSQL needs both steps for the same.
    merged="((eval_dataset.{column}::jsonb - 'confirmed') || jsonb_strip_nulls(({patch})::jsonb))::text",
    included="({}::jsonb #>> '{{provenance,inclusion_probability}}')::float8",
    quoted="to_json({})::text",
    fence="OFFSET 0",
)


def dialect_of(connection: Connection) -> Dialect:
    return POSTGRES if connection.dialect.name == "postgresql" else SQLITE


# Numbers instead of names: the reason of a million traces is compared and grouped.
CODE = {reason: number for number, reason in enumerate(Reason)}
TIER_OF = {
    Reason.FAILED_CHECK: Tier.FAILURE,
    Reason.USER_NEGATIVE: Tier.FAILURE,
    Reason.CORRECTED: Tier.FAILURE,
    Reason.CONFIRMED: Tier.CONFIRMED,
    Reason.OUTCOME: Tier.UNCONFIRMED,
    Reason.CONTENT: Tier.UNCONFIRMED,
    Reason.CHECKED: Tier.CANDIDATE,
}
PEOPLE = "(source = 'user' OR source = 'human')"
CHECK = "substr(key, 1, 6) = 'check:'"
# Checks that presume from form and words: their doubts are silent where an outcome says that the answer was good.
PRESUMING = "key IN ({})".format(", ".join(f"'{CHECK_KEY}{name}'" for name in PRESUMING_CHECKS))
DETECTED = "substr(key, 1, 9) = 'detected:'"
HUMAN, USER = "source = 'human'", f"source = 'user' AND NOT {DETECTED}"
REMARK = f"source = 'user' AND {DETECTED}"
# Whether the message of a trace is a remark on an earlier answer.
REMARKS = """SELECT 1 FROM remarks m WHERE m.message_id = {} AND m.dismissed = 0
                  AND m.kind IN ('correction', 'complaint', 'acceptance')"""
JUDGED = "(source = 'system' OR source = 'llm_judge')"

# Whether the trace says something else by now than an entry that nobody but its policy has touched.
STALE = """CASE WHEN d.id IS NOT NULL AND d.review = 'unvalidated'
                  AND (d.input_text <> t.input_text OR coalesce(d.output_text, '') <> coalesce(t.output_text, ''))
                  AND NOT EXISTS (SELECT 1 FROM case_revisions r WHERE r.entry_id = d.id AND r.who NOT LIKE 'policy %')
                THEN 1 ELSE 0 END"""


# Whether somebody decided what the entry is: a reviewer, or whoever took this very revision's change back, until the app or
# a person scores the trace anew.
STANDS = f"""CASE WHEN d.id IS NOT NULL AND (d.review = 'validated' OR d.decided <> '' OR (d.undone = :rev AND NOT EXISTS
                  (SELECT 1 FROM trace_scores s WHERE s.trace_id = d.trace_id AND s.created_at > d.updated_at
                    AND NOT {CHECK} AND NOT {DETECTED}))) THEN 1 ELSE 0 END"""

# Whether the trace has grown since anything else became of the entry.
GREW = "EXISTS (SELECT 1 FROM case_revisions r WHERE r.entry_id = d.id AND r.version = d.version AND r.action = 'grew')"


@dataclass(frozen=True)
class Scope:
    """What a verdict takes into account beside scores: the checks that are on and that the policy asks for, and whether the
    day's limit holds (it does not while a day's candidates are gathered)."""

    required: tuple[str, ...] = ()
    limited: bool = False


class VerdictQuery:
    """The SELECT of one policy over the traces that `chosen` names (a condition on the column `trace_id`)."""

    def __init__(self, policy: Policy, dialect: Dialect, chosen: str, scope: Scope) -> None:
        self.policy, self.dialect, self.chosen, self.scope = policy, dialect, chosen, scope
        self.params: dict[str, object] = {
            "low": policy.thresholds.failure_below,
            "high": policy.thresholds.golden_from,
            "policy": policy.name,
            "rev": policy.rev,
            "blanks": BLANKS,
        }
        judges = policy.llm_judge is JudgeRole.SYSTEM
        self.system = JUDGED if judges else "source = 'system'"
        self.heeded = f"name NOT IN ({self._bind('ignored', policy.ignore)})" if policy.ignore else "true"
        self.part = self.heeded if judges else f"source <> 'llm_judge' AND {self.heeded}"
        # Judges that take no part still keep a trace out by what their checks doubt.
        self.looked_at = f"(source <> 'llm_judge' OR {'true' if judges else CHECK}) AND {self.heeded}"
        named = f" AND name IN ({self._bind('outcome', policy.outcome)})" if policy.outcome else ""
        self.outcome = f"source = 'system' AND NOT {CHECK}{named}"

    def _bind(self, stem: str, values: tuple[str, ...]) -> str:
        names = [f"{stem}_{number}" for number in range(len(values))]
        self.params |= dict(zip(names, values, strict=True))
        return ", ".join(f":{name}" for name in names)

    def sql(self) -> str:
        """Columns: trace_id, reason; the entry there is already (entry, was_type, was_confirmed, was_status, was_version,
        was_rev, was_included, was_dataset, stale, mistagged); whether a person's word stands there (stands), and what spoke
        against it (was_question, was_answered); where the trace lies (seq); what tags are made of (message_type, model,
        tags); how many scores are not by checks (voices)."""
        chosen, part, dialect = self.chosen, self.looked_at, self.dialect
        held = f"""d.id AS entry, d.entry_type AS was_type, d.confirmed AS was_confirmed,
                d.evidence AS was_evidence, d.status AS was_status,
                d.version AS was_version, d.policy_rev AS was_rev, {dialect.included.format("d.body")} AS was_included,
                d.dataset AS was_dataset, {STANDS} AS stands,
                d.question AS was_question, d.answered AS was_answered"""
        return f"""
            SELECT trace_id, {self._apply_sample()} AS reason, entry, was_type, was_confirmed, was_evidence,
              was_status, was_version, was_rev, was_included, was_dataset, stands, was_question, was_answered, stale, mistagged,
              seq, message_type, model, tags, voices, {self._evidence()} AS evidence
            FROM (
              SELECT tally.trace_id, CASE {" ".join(self._rules())} END AS reason, {held}, {STALE} AS stale,
                {self._is_mistagged()} AS mistagged, t.seq, t.message_type, t.model, t.tags, tally.voices,
                worst_user, worst_outcome, by_human,
                {self._point()} AS point
              FROM ({self._tally()}) AS tally CROSS JOIN traces t
              LEFT JOIN eval_dataset d ON d.trace_id = tally.trace_id AND d.policy = :policy
              WHERE t.id = tally.trace_id {dialect.fence}
            ) AS judged
            UNION ALL
            SELECT trace_id, {CODE[Reason.NO_SCORES]}, {held}, 0, 0, NULL, NULL, NULL, '[]', 0, ''
            FROM eval_dataset d WHERE {chosen} AND policy = :policy
              AND NOT EXISTS (SELECT 1 FROM trace_scores WHERE trace_id = d.trace_id AND {part})"""

    def _tally(self) -> str:
        """The scores of each trace in a few numbers: the app's, the checks' that count, and those of the highest rank of people.

        Where people found it good, a check below the golden threshold does not count; where an outcome did, one that presumes.
        Of remarks that were detected the worst counts: a guess that somebody was content does not outweigh a doubt.
        """
        ranks = {"human": HUMAN, "user": USER, "remark": REMARK}
        best = " ".join(f"WHEN best_{rank} IS NOT NULL THEN best_{rank}" for rank in ranks)
        worst = " ".join(f"WHEN best_{rank} IS NOT NULL THEN worst_{rank}" for rank in ranks)
        sums = ", ".join(
            f"min(value) FILTER (WHERE {rule}) AS worst_{rank}, "
            f"{'min' if rank == 'remark' else 'max'}(value) FILTER (WHERE {rule}) AS best_{rank}"
            for rank, rule in ranks.items()
        )
        return f"""
                SELECT trace_id, worst_app, worst_user, best_user, by_human, said, voices, worst_outcome, judged, doubted,
                  CASE WHEN worst_user >= :low AND best_user >= :high
                  THEN CASE WHEN best_check >= :high THEN best_check END ELSE worst_check END AS worst_check
                FROM (
                  SELECT trace_id, worst_app, best_check,
                    CASE WHEN worst_app >= :high AND worst_outcome IS NOT NULL THEN worst_firm ELSE worst_any END AS worst_check,
                    CASE {worst} END AS worst_user, CASE {best} END AS best_user,
                    CASE WHEN best_human IS NOT NULL THEN 1 ELSE 0 END AS by_human,
                    CASE WHEN best_human IS NOT NULL OR best_user IS NOT NULL THEN 1 ELSE 0 END AS said, voices,
                    worst_outcome, judged, doubted
                  FROM (
                    SELECT trace_id, min(value) FILTER (WHERE {self.system} AND NOT {CHECK}) AS worst_app,
                      min(value) FILTER (WHERE {self.system} AND {CHECK}) AS worst_any,
                      min(value) FILTER (WHERE {self.system} AND {CHECK} AND NOT ({PRESUMING} AND value >= :low)) AS worst_firm,
                      max(value) FILTER (WHERE {self.system} AND {CHECK}) AS best_check,
                      count(*) FILTER (WHERE NOT {CHECK}) AS voices, {sums},
                      min(value) FILTER (WHERE {self.outcome}) AS worst_outcome,
                      count(*) FILTER (WHERE {self.system} AND source = 'llm_judge') AS judged,
                      count(*) FILTER (WHERE source = 'llm_judge' AND {CHECK} AND value < {SUPPORTED_FROM}) AS doubted
                    FROM trace_scores WHERE {self.chosen} AND {self.looked_at} GROUP BY trace_id
                  ) AS summed
                ) AS ranked"""

    def deciding_scores(self) -> str:
        """The scores that decided the verdict of a row `v`, as a JSON list."""
        wanted = {
            Reason.CONFIRMED: f"value >= :high OR ({self.system} AND NOT {CHECK})",
            Reason.OUTCOME: f"{self.system} AND (value >= :high OR NOT {CHECK})",
            Reason.CONTENT: f"{self.system} AND (value >= :high OR NOT {CHECK})",
            Reason.CHECKED: self.system,
            Reason.FAILED_CHECK: "value < :low",
            Reason.USER_NEGATIVE: "value < :low",
            Reason.NO_SYSTEM: PEOPLE,
            Reason.SYSTEM_BETWEEN: f"{self.system} AND value < :high",
            Reason.USER_BETWEEN: PEOPLE,
            Reason.OBJECTED: PEOPLE,
        }
        rules = " ".join(f"WHEN {CODE[reason]} THEN {rule}" for reason, rule in wanted.items())
        return (
            f"(SELECT {self.dialect.listed} FROM trace_scores "
            f"WHERE trace_id = v.trace_id AND {self.part} AND CASE v.reason {rules} ELSE false END)"
        )

    def failed_checks(self, trace: str) -> str:
        """The tags of the checks that a trace fails, as a table `f`."""
        return (
            f"(SELECT 'failed:' || name AS tag FROM trace_scores "
            f"WHERE trace_id = {trace} AND {self.system} AND {self.heeded} AND value < :low) AS f"
        )

    def _is_mistagged(self) -> str:
        """Whether a failure's `failed:` tags are others than the checks it fails, or an entry that another revision of the
        policy made, or whose trace has grown since, lacks a tag that this one gives; a tag that a person took away stays away."""
        mine = "SELECT 1 FROM eval_dataset_tags g WHERE g.dataset_id = d.id AND g.tag"
        rules = (
            [f"(d.policy_rev <> :rev OR {GREW}) AND ({' OR '.join(lacking)})"]
            if (lacking := list(self._lacks_tag(mine)))
            else []
        )
        if "failed_check" in self.policy.tags:
            checks = self.failed_checks("d.trace_id")
            rules.append(f"""d.entry_type = 'failure' AND (
                  EXISTS (SELECT 1 FROM {checks} WHERE NOT EXISTS ({mine} = f.tag))
                  OR EXISTS ({mine} LIKE 'failed:%' AND NOT EXISTS (SELECT 1 FROM {checks} WHERE f.tag = g.tag)))""")
        return f"CASE WHEN d.id IS NULL THEN 0 {' '.join(f'WHEN {rule} THEN 1' for rule in rules)} ELSE 0 END"

    def _lacks_tag(self, mine: str) -> Iterator[str]:
        """How an entry may lack a tag, kind by kind; what a plug-in would say is only known to the plug-in."""
        named = {"message_type": "t.message_type", "model": "'model:' || t.model"}
        for kind in self.policy.tags:
            if kind in named:
                yield f"t.{kind} <> '' AND NOT EXISTS ({mine} = {named[kind]})"
            elif kind == "tool":
                yield (
                    "EXISTS (SELECT 1 FROM spans s WHERE s.trace_seq = t.seq AND s.kind = 'tool' AND s.name <> '' "
                    f"AND NOT EXISTS ({mine} = 'tool:' || s.name))"
                )
            elif kind not in TAG_KINDS:
                yield "true"

    def _rules(self) -> Iterator[str]:
        """The reason, rule by rule. What keeps a trace out comes before the tier it would have had."""
        # SQLite's min() is NULL when either argument is, PostgreSQL's least() skips NULLs: coalesce makes them agree.
        system = "coalesce(least(worst_app, worst_check), worst_app, worst_check)".replace("least", self.dialect.least)
        failed = f"(worst_app < :low OR worst_user < :low OR ({system} < :low AND by_human = 0))"
        golden = f"({system} >= :high AND (best_user IS NULL OR best_user >= :high))"
        reply = f"{self.dialect.trim}(coalesce(t.output_text, ''), :blanks)"
        corrections = "SELECT 1 FROM trace_corrections c WHERE c.trace_id = tally.trace_id AND c.dismissed = 0"
        corrected = f"EXISTS ({corrections} AND coalesce(c.author, '') <> 'detected')"
        eligible = " AND ".join(self._conditions()) or "true"
        # Of an incomplete trace only what somebody said counts: the app, a user or a person.
        stated = "(coalesce(worst_app < :low, false) OR coalesce(worst_user < :low AND said = 1, false))"
        lacking = f"t.incomplete <> '' AND ({system} IS NOT NULL OR best_user IS NOT NULL) AND NOT {stated}"
        yield f"WHEN {lacking} AND {corrected} AND {eligible} THEN {CODE[Reason.CORRECTED]}"
        yield f"WHEN {lacking} THEN {CODE[Reason.INCOMPLETE]}"
        if self.policy.eligible != Eligibility():
            yield f"WHEN ({failed} OR {golden}) AND NOT ({eligible}) THEN {CODE[Reason.INELIGIBLE]}"
        yield f"WHEN worst_app < :low THEN {CODE[Reason.FAILED_CHECK]}"
        yield f"WHEN worst_user < :low THEN {CODE[Reason.USER_NEGATIVE]}"
        # Comparisons with NULL are neither true nor false, so rules below may take it for granted that there is a
        # score.
        yield f"WHEN {system} IS NULL AND best_user IS NULL THEN {CODE[Reason.NO_SCORES]}"
        yield f"WHEN {system} IS NULL THEN {CODE[Reason.NO_SYSTEM]}"
        yield f"WHEN t.status = 'failed' AND NOT ({system} < :low AND by_human = 0) THEN {CODE[Reason.TRACE_FAILED]}"
        yield f"WHEN {system} < :low AND by_human = 1 THEN {CODE[Reason.USER_BETWEEN]}"
        yield f"WHEN {system} < :low THEN {CODE[Reason.FAILED_CHECK]}"
        yield f"WHEN {system} < :high THEN {CODE[Reason.SYSTEM_BETWEEN]}"
        yield f"WHEN best_user < :high AND said = 1 THEN {CODE[Reason.USER_BETWEEN]}"
        yield f"WHEN best_user < :high AND {corrected} AND {eligible} THEN {CODE[Reason.CORRECTED]}"
        yield f"WHEN best_user < :high THEN {CODE[Reason.OBJECTED]}"
        yield f"WHEN {reply} = '' THEN {CODE[Reason.NO_OUTPUT]}"
        if fallbacks := list(self._fallbacks(reply)):
            yield f"WHEN {' OR '.join(fallbacks)} THEN {CODE[Reason.FALLBACK]}"
        yield f"WHEN {corrected} THEN {CODE[Reason.CORRECTED]}"
        if self.scope.required:
            spoken = "SELECT 1 FROM trace_checks k WHERE k.trace_id = tally.trace_id"
            # Names stand between blanks in the column, so LIKE finds whole names.
            marks = self._bind("required", tuple(f"% {name} %" for name in self.scope.required)).split(", ")
            silent = " ".join(f"AND k.failed NOT LIKE {mark}" for mark in marks)
            yield f"WHEN NOT EXISTS ({spoken} {silent}) THEN {CODE[Reason.UNCHECKED]}"
        yield f"WHEN best_user IS NOT NULL THEN {CODE[Reason.CONFIRMED]}"
        yield f"WHEN worst_outcome IS NULL AND doubted > 0 THEN {CODE[Reason.DOUBTED]}"
        yield f"WHEN worst_outcome IS NOT NULL THEN {CODE[Reason.OUTCOME]}"
        yield f"WHEN EXISTS ({REMARKS.format('tally.trace_id')}) THEN {CODE[Reason.REMARK]}"
        yield f"WHEN judged > 0 THEN {CODE[Reason.CONTENT]} ELSE {CODE[Reason.CHECKED]}"

    def _evidence(self) -> str:
        """What the tier rests on: the strongest word behind it."""
        person = "CASE WHEN by_human = 1 THEN 'person' ELSE 'user' END"
        return f"""CASE reason WHEN {CODE[Reason.CORRECTED]} THEN 'person' WHEN {CODE[Reason.CONFIRMED]} THEN {person}
              WHEN {CODE[Reason.OUTCOME]} THEN 'outcome' WHEN {CODE[Reason.CONTENT]} THEN 'content'
              WHEN {CODE[Reason.CHECKED]} THEN 'silence'
              WHEN {CODE[Reason.FAILED_CHECK]} THEN CASE WHEN worst_user < :low THEN {person}
                WHEN worst_outcome < :low THEN 'outcome' ELSE 'check' END
              WHEN {CODE[Reason.USER_NEGATIVE]} THEN {person} ELSE '' END"""

    def _apply_sample(self) -> str:
        """The reason, unless the trace is outside the sample of its tier."""
        rules = []
        for reason, tier in TIER_OF.items():
            if (rate := self.policy.sample.rate(tier)) < 1:
                self.params[f"rate_{CODE[reason]}"] = rate
                outside = f"reason = {CODE[reason]} AND point >= :rate_{CODE[reason]}"
                rules.append(f"WHEN {outside} THEN {CODE[Reason.NOT_SAMPLED]}")
        if self.scope.limited:
            chosen = "SELECT 1 FROM candidate_pool p WHERE p.policy = :policy AND p.trace_id = judged.trace_id AND p.chosen = 1"
            rules.append(
                f"WHEN reason = {CODE[Reason.CHECKED]} AND NOT EXISTS ({chosen}) THEN {CODE[Reason.OVER_LIMIT]}"
            )
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

    def _conditions(self) -> Iterator[str]:
        rules = self.policy.eligible
        if rules.names:
            yield f"t.name IN ({self._bind('name', rules.names)})"
        if rules.apps:
            app = APP["postgresql" if self.dialect is POSTGRES else "sqlite"].format("t")
            yield f"{app} IN ({self._bind('app', rules.apps)})"
        if rules.users:
            yield f"coalesce(t.user_id, '') IN ({self._bind('user', rules.users)})"
        if rules.exclude_users:
            yield f"coalesce(t.user_id, '') NOT IN ({self._bind('not_user', rules.exclude_users)})"
        if rules.min_input_chars:
            yield f"length(t.input_text) >= {rules.min_input_chars}"
        for number, (key, allowed) in enumerate(sorted(rules.metadata.items())):
            self.params[f"key_{number}"] = key
            values = self._bind(f"meta_{number}", allowed)
            result = self.dialect.metadata_text.format(key=f":key_{number}", allowed=values)
            # A missing key gives NULL, and NOT NULL would be NULL again instead of "not eligible".
            yield f"coalesce({result}, false)"

    def _point(self) -> str:
        if self.policy.sample == Sampling():
            return "0"
        self.params["salt"] = f"{self.policy.name}:"
        return self.dialect.unit.format("CAST(:salt AS text) || t.id")


LOOKED_AT = 20_000  # traces at most: the page must open whatever the store holds
NEWEST = "trace_id IN (SELECT id FROM traces WHERE started_at >= :since ORDER BY started_at DESC, seq DESC LIMIT :most)"


def newest_traces(connection: Connection, most: int) -> list[str]:
    return read_column(connection, "SELECT id FROM traces ORDER BY started_at DESC, seq DESC LIMIT :most", most=most)


def reasons_since(
    connection: Connection, policy: Policy, scope: Scope, since: str, most: int = LOOKED_AT
) -> tuple[int, dict[Reason, int]]:
    """Count the newest traces since then, and of those that have scores the verdicts by reason."""
    query = VerdictQuery(policy, dialect_of(connection), NEWEST, scope)
    verdicts = query.sql()  # which completes the parameters
    params = query.params | {"since": since, "most": most}
    rows = run_sql(connection, f"SELECT reason, count(*) FROM ({verdicts}) AS v GROUP BY reason", **params)
    names = {code: reason for reason, code in CODE.items()}
    counts = {names[code]: int(number) for code, number in rows}
    total = "SELECT count(*) FROM (SELECT 1 FROM traces WHERE started_at >= :since LIMIT :most) AS t"
    return int(read_value(connection, total, since=since, most=most)), counts


def scores_between(connection: Connection, policy: Policy, scope: Scope, since: str, most: int) -> dict[str, int]:
    """Count, by name, the scores that keep those of these traces from golden that have no other reason."""
    query = VerdictQuery(policy, dialect_of(connection), NEWEST, scope)
    kept_out = f"SELECT trace_id FROM ({query.sql()}) AS v WHERE reason = {CODE[Reason.SYSTEM_BETWEEN]}"
    counted = f"""SELECT name, count(*) FROM trace_scores WHERE trace_id IN ({kept_out}) AND {query.part} AND {query.system}
        AND value < :high GROUP BY name ORDER BY 2 DESC, 1 LIMIT 10"""
    rows = run_sql(connection, counted, **query.params | {"since": since, "most": most})
    return {row[0]: int(row[1]) for row in rows}
