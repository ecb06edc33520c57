"""The built-in checks of a single turn, and the judges that checks of one's own ask.

Each check gives a result, or None where it does not apply. `Grounded` asks the offline judge whether the contexts support the
answer; a policy decides whether that counts. `CheckJudges` puts one rubric to a judge, one question a trace, and no more
questions a day than the budget allows.
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import re2

from evergold.checks.answered import admits_failure, reports_failure
from evergold.checks.own import CheckFailed, JudgeCheck
from evergold.judge.daily import DailyBudget, ask_now
from evergold.model.check import CheckResult, Turn
from evergold.model.judge import Question
from evergold.model.trace import ScoreSource, TraceStatus
from evergold.model.values import content_hash, unit_interval
from evergold.seams import Judge, Redactor
from evergold.text.words import fold_text, language_of, sentences

if TYPE_CHECKING:
    from evergold.judge.offline import OfflineJudge

LOOKED_AT = 600  # characters: a hundred words name their language
SECRET_KINDS = frozenset({"SECRET", "CARD", "PASSWORD", "KEY", "TOKEN"})
CUT_SHORT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "token_limit"})
FILTERED = frozenset({"content_filter", "safety", "recitation", "blocklist", "prohibited_content"})
_PLACEHOLDER = re.compile(r"\[(" + "|".join(sorted(SECRET_KINDS)) + r")\]")
_FENCED = re.compile(r"```.*?(?:```|\Z)", re.S)
_ASSIGNED = re.compile(r"[=:]\s{0,4}[\"'`]?\Z")
_OTHER_LANGUAGE_ASKED = re2.compile(
    r"\b(?:translat\w*|traduc\w*|traduz\w*|ubersetz\w*|traduis\w*|language|idioma|how do (?:you|i) say|como se dice|"
    r"in (?:english|spanish|french|german|italian|portuguese|chinese|japanese)|english|spanish|ingles|espanol|"
    r"(?:en|al|en el) (?:castellano|frances|aleman|italiano|portugues|chino|japones))\b"
)
# Models wrap JSON in a fence although they were asked for JSON alone; what is inside counts.
_FENCE = re.compile(r"^\s*```(?:json)?\s*\n(.*?)\n?```\s*$", re.S)
_JSON_WANTED = re2.compile(
    r"\b(?:as|in|into|valid|return|only|output|respond with|give me|reply with|format:?|en|como|formato|devuelve|solo)\s+"
    r"(?:a |an |un |una |valid |only |the |el ){0,4}json\b|\bjson (?:only|object|array|format|output|solo)\b"
)


class Finished:
    """1.0 when the turn ended by itself; 0.0 when it crashed; 0.5 when it was cut short."""

    name: ClassVar[str] = "finished"
    version: ClassVar[str] = "1"

    def check(self, turn: Turn) -> CheckResult | None:
        if turn.status is TraceStatus.FAILED:
            error = turn.metadata.get("error") or turn.metadata.get("status_message") or ""
            return CheckResult(0.0, "the trace failed", str(error)[:160])
        if turn.status is TraceStatus.STARTED:
            # A trace that is still running has not ended in any way yet.
            return None
        reason = turn.finish_reasons[-1].lower() if turn.finish_reasons else ""
        if reason in CUT_SHORT:
            return CheckResult(0.5, "the model stopped at its token limit", reason)
        if reason in FILTERED:
            return CheckResult(0.5, "a content filter stopped the model", reason)
        return CheckResult(1.0, "the turn ended by itself", reason)


class LanguageMatch:
    """1.0 when the answer is in the language of the question, 0.5 when it is in another that nobody asked for."""

    name: ClassVar[str] = "language_match"
    version: ClassVar[str] = "2"

    def check(self, turn: Turn) -> CheckResult | None:
        reply = turn.output or ""
        question = fold_text(turn.input[:2000])
        # A translation is in another language by request.
        if not reply or _OTHER_LANGUAGE_ASKED.search(question):
            return None
        asked, answered = language_of(turn.input, LOOKED_AT), language_of(reply, LOOKED_AT)
        if asked is None or answered is None:
            return None
        if asked == answered:
            return CheckResult(1.0, "the answer is in the language of the question", asked)
        return CheckResult(0.5, "the answer is in another language than the question", f"{asked} → {answered}")


class NoSecret:
    """0.0 when the answer holds a secret, or the mark that redaction left in its place; 0.5 when it only stands behind a name in
    code that is shown, where examples of passwords look like passwords, or the user gave it."""

    name: ClassVar[str] = "no_secret"
    version: ClassVar[str] = "3"

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._redactor = redactor

    def check(self, turn: Turn) -> CheckResult | None:
        reply = turn.output
        if not reply:
            return None
        shown, counts = self._redactor.redact(reply) if self._redactor is not None else (reply, {})
        marks = list(_PLACEHOLDER.finditer(shown))
        kinds = {mark[1] for mark in marks} | (SECRET_KINDS & {kind for kind, number in counts.items() if number})
        if not kinds:
            return CheckResult(1.0, "no secret in the answer")
        named = ", ".join(sorted(kinds))
        if marks and kinds <= {mark[1] for mark in _PLACEHOLDER.finditer(turn.input)}:
            return CheckResult(0.5, "the answer repeats a secret that the user gave", named)
        code = [fence.span() for fence in _FENCED.finditer(shown)]
        if marks and all(
            any(start < mark.start() < end for start, end in code) and _ASSIGNED.search(shown[: mark.start()][-8:])
            for mark in marks
        ):
            return CheckResult(0.5, "code in the answer has a value that may be a secret", named)
        return CheckResult(0.0, "the answer holds a secret", named)


class ToolOk:
    """0.0 when a tool call failed, by its status or by its result, no later call of that tool succeeded, and the answer claims
    success; 0.5 where the answer says that it did not work, or another tool may have mended it; no result without calls."""

    name: ClassVar[str] = "tool_ok"
    version: ClassVar[str] = "3"

    def check(self, turn: Turn) -> CheckResult | None:
        if not turn.tools:
            return None
        # The last call of each tool decides: a retry that succeeded has recovered the failure.
        last = {step.name: step for step in turn.tools}
        failed = [step for step in last.values() if step.failed or reports_failure(step.result)]
        if not failed:
            return CheckResult(1.0, "every tool call succeeded or was recovered")
        evidence = "; ".join(f"{step.name}: {step.result}" if step.result else step.name for step in failed)[:160]
        if not turn.output or admits_failure(turn.output):
            return CheckResult(0.5, "a tool call failed, and the answer says that something did not work", evidence)
        if failed[-1] is not turn.tools[-1] and not any(step.failed for step in failed):
            return CheckResult(0.5, "a tool's result says that it failed; another tool was called after it", evidence)
        return CheckResult(0.0, "a tool call failed and was not recovered, and the answer claims success", evidence)


class ValidJson:
    """1.0 for valid JSON where JSON was asked for, 0.0 where the request declared it and it is not, 0.5 where words asked."""

    name: ClassVar[str] = "valid_json"
    version: ClassVar[str] = "1"

    def check(self, turn: Turn) -> CheckResult | None:
        reply = turn.output
        declared = (turn.output_type or "").startswith("json")
        if not reply or not reply.strip() or not (declared or _JSON_WANTED.search(fold_text(turn.input[:4000]))):
            return None
        fenced = _FENCE.match(reply)
        body = fenced[1] if fenced else reply
        try:
            json.loads(body)
        except ValueError as problem:
            if not declared and body.strip()[:1] not in ("{", "["):
                return None  # a question about JSON, not a request for it
            # A declared output type is a contract, words are a wish that may have been misread.
            return CheckResult(0.0 if declared else 0.5, "JSON was asked for and the answer is none", str(problem)[:80])
        return CheckResult(1.0, "the answer is valid JSON")


MOST_EVIDENCE = 20_000
MOST_KNOWN = 10_000  # results that are kept, of some 400 bytes each
# A file name, an address or an id: it names a document whose text was not recorded, so nothing can be held against it.
NAME = re.compile(r"[\w.:/\\?&=#%~@+$,;!*'()\[\]-]*", re.ASCII)


class Grounded:
    """The share of the answer's sentences that contexts and results of tools support; no result without a text of either."""

    name = "grounded"
    slow = True  # the model takes a tenth of a second for an answer
    source = ScoreSource.LLM_JUDGE

    def __init__(self) -> None:
        self._known: dict[str, tuple[CheckResult | None]] = {}

    @cached_property
    def _judge(self) -> "OfflineJudge":
        from evergold.judge.offline import OfflineJudge

        return OfflineJudge()

    @property
    def version(self) -> str:
        return f"4 {self._judge.identity}"

    def check(self, turn: Turn) -> CheckResult | None:
        # What was asked of a tool belongs to what it gave: "21 degrees" is of the city that was asked for.
        results = [f"{one.arguments} {one.result}" for one in turn.tools if not one.failed and not _is_name(one.result)]
        texts = [text[:MOST_EVIDENCE] for text in (*turn.contexts, *results) if not _is_name(text)]
        if not texts or not turn.output:
            return None
        missing = any(map(_is_name, turn.contexts))
        # By the texts, not the turn: a turn that is only followed by another one is not read again, least of all while others
        # wait for the writer.
        key = content_hash([turn.output, texts, missing])
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            known = self._known[key] = (self._measure(turn.output, texts, missing),)
        return known[0]

    def _measure(self, output: str, texts: Sequence[str], missing: bool) -> CheckResult | None:
        """Measure the sentences; not where one lacks support that a `missing` text may give, or that the judge cannot see in a
        language it does not know."""
        evidence = self._judge.evidence(texts)
        # A question in the answer claims nothing.
        claims = [claim for claim in sentences(output[:MOST_EVIDENCE]) if not claim.endswith("?")]
        supports = self._judge.supports(claims, evidence) if claims else []
        lacking = [(claim, one) for claim, one in zip(claims, supports, strict=True) if one.verdict != "supported"]
        if not claims or any(missing or one.outside for _, one in lacking):
            return None
        supported = len(claims) - len(lacking)
        reason = f"{supported} of {len(claims)} sentences are supported"
        return CheckResult(supported / len(claims), reason, "; ".join(claim for claim, _ in lacking)[:160])


def _is_name(text: str) -> bool:
    return NAME.fullmatch(text.strip()[:MOST_EVIDENCE]) is not None


TEN = 10.0
SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "number", "minimum": 0, "maximum": TEN}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}
PROMPT = """Judge the answer of an assistant by this rubric alone.

Rubric: {rubric}

Question:
{input}

Answer:
{output}

Reply with a JSON object: "reason" (one sentence), then "score" from 0 (fails the rubric) to 10 (meets it fully)."""


class CheckJudges:
    """The judges that checks ask, by name, and how many questions each check has put today."""

    def __init__(self, judges: Mapping[str, Judge], asked_today: Mapping[str, int] | None = None) -> None:
        self._judges = judges
        self._budget = DailyBudget(asked_today)

    def ask(self, check: JudgeCheck, turn: Turn) -> CheckResult | None:
        """Put the rubric to the check's judge; raises `CheckFailed` when the budget is spent or the judge has no answer."""
        if not turn.output or not check.when.holds(turn) or unit_interval(f"{check.name}:{turn.id}") >= check.sample:
            return None
        # A question counts when it is put: a judge that fails still costs.
        if not self._budget.take(check.name, check.budget):
            raise CheckFailed(f"{check.name} waits: its budget of {check.budget} questions a day is spent")
        inputs = {"rubric": check.rubric, "input": turn.input, "output": turn.output}
        question = Question(task="rubric", inputs=inputs, prompt=PROMPT.format(**inputs), answer_schema=SCHEMA)
        (answer,) = ask_now(self._judges[check.judge], [question])
        if answer.data is None:
            raise CheckFailed(f"{check.name}: judge {check.judge!r} gave no answer: {answer.reason}")
        score = answer.data.get("score")
        if not isinstance(score, int | float) or not 0 <= score <= TEN:
            raise CheckFailed(f"{check.name}: judge {check.judge!r} gave the score {score!r}; it lies from 0 to 10")
        return CheckResult(score / TEN, str(answer.data.get("reason", "")), f"judge {check.judge}")
