"""The built-in checks that need no model. Each looks at one turn and gives a result, or None where it does not apply."""

import json
import re
from typing import ClassVar

import re2

from evergold.checks.languages import LOOKED_AT, language_of
from evergold.model.checking import CheckResult, Turn
from evergold.model.trace import TraceStatus
from evergold.seams import Redactor
from evergold.text.folding import folded

SECRET_KINDS = frozenset({"SECRET", "CARD", "PASSWORD", "KEY", "TOKEN"})
CUT_SHORT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "token_limit"})
FILTERED = frozenset({"content_filter", "safety", "recitation", "blocklist", "prohibited_content"})
_PLACEHOLDER = re.compile(r"\[(" + "|".join(sorted(SECRET_KINDS)) + r")\]")
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
        question = folded(turn.input[:2000])
        # A translation is in another language by request.
        if not reply or _OTHER_LANGUAGE_ASKED.search(question):
            return None
        asked, answered = language_of(turn.input, question), language_of(reply, folded(reply[:LOOKED_AT]))
        if asked is None or answered is None:
            return None
        if asked == answered:
            return CheckResult(1.0, "the answer is in the language of the question", asked)
        return CheckResult(0.5, "the answer is in another language than the question", f"{asked} → {answered}")


class NoSecret:
    """0.0 when the answer holds a secret, or the mark that redaction left in its place."""

    name: ClassVar[str] = "no_secret"
    version: ClassVar[str] = "1"

    def __init__(self, redactor: Redactor | None = None) -> None:
        self._redactor = redactor

    def check(self, turn: Turn) -> CheckResult | None:
        reply = turn.output
        if not reply:
            return None
        kinds = {match[1] for match in _PLACEHOLDER.finditer(reply)}
        if self._redactor is not None:
            kinds |= SECRET_KINDS & {kind for kind, number in self._redactor.redact(reply)[1].items() if number}
        if kinds:
            return CheckResult(0.0, "the answer holds a secret", ", ".join(sorted(kinds)))
        return CheckResult(1.0, "no secret in the answer")


class ToolOk:
    """0.0 when a tool call failed and no later call of that tool succeeded; no result without tool calls."""

    name: ClassVar[str] = "tool_ok"
    version: ClassVar[str] = "1"

    def check(self, turn: Turn) -> CheckResult | None:
        if not turn.tools:
            return None
        # The last call of each tool decides: a retry that succeeded has recovered the failure.
        last = {step.name: step.failed for step in turn.tools}
        failed = [name for name, bad in last.items() if bad]
        if failed:
            return CheckResult(0.0, "a tool call failed and was not recovered", ", ".join(failed)[:80])
        return CheckResult(1.0, "every tool call succeeded or was recovered")


class ValidJson:
    """1.0 for valid JSON where JSON was asked for, 0.0 where the request declared it and it is not, 0.5 where words asked."""

    name: ClassVar[str] = "valid_json"
    version: ClassVar[str] = "1"

    def check(self, turn: Turn) -> CheckResult | None:
        reply = turn.output
        declared = (turn.output_type or "").startswith("json")
        if not reply or not reply.strip() or not (declared or _JSON_WANTED.search(folded(turn.input[:4000]))):
            return None
        fenced = _FENCE.match(reply)
        try:
            json.loads(fenced[1] if fenced else reply)
        except ValueError as problem:
            if not declared and not _looks_like_json(reply):
                return None  # a question about JSON, not a request for it
            # A declared output type is a contract, words are a wish that may have been misread.
            return CheckResult(0.0 if declared else 0.5, "JSON was asked for and the answer is none", str(problem)[:80])
        return CheckResult(1.0, "the answer is valid JSON")


def _looks_like_json(reply: str) -> bool:
    fenced = _FENCE.match(reply)
    return (fenced[1] if fenced else reply).strip()[:1] in ("{", "[")
