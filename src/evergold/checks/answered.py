"""Did the assistant answer at all? Empty replies, error texts, stack traces and raw calls are failures; refusals and
apologies without an answer are kept out of the golden set.

The reply is cut into clauses, and each clause is an error, a refusal, an apology, a filler ("please try again later") or
content. A reply counts as unanswered when it opens with one of the first three and has next to no content: an
answer that talks about errors, apologises and then helps, or quotes a refusal is an answer.

Phrase files: the clauses of answers that are none, one TOML file a language, compiled to one expression a set.

A further language is a further file in `phrases/`.
"""

import json
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, partial
from importlib.resources import files
from typing import ClassVar

import re2

from evergold.conversation.message import decode_json, parse_printed
from evergold.errors import BadInput
from evergold.model.check import CheckResult, Turn
from evergold.model.trace import Gap
from evergold.text.words import fold_text

LANGUAGES = ("english", "spanish")


@cache
def phrases() -> dict[str, re.Pattern[str]]:
    """Compile the sets of all languages together.

    `opening`, `courtesy` and `self_named` ("as an AI") are stripped; `technical` matches whole replies; `error`, `apology` and
    `filler` match whole clauses, `refusal` their beginning. `inability` matches the beginning of a clause after an apology or
    `self_named`, `excuse` whole clauses after an inability. Those of signals: `gives_up` matches whole clauses, the others are
    looked for in a whole message.
    """
    gathered: dict[str, list[str]] = defaultdict(list)
    for language in LANGUAGES:
        for name, patterns in read(language).items():
            gathered[name] += patterns
    return {name: re.compile("|".join(f"(?:{one})" for one in patterns)) for name, patterns in gathered.items()}


def read(language: str) -> dict[str, list[str]]:
    """Read one language's file and put its words into its patterns."""
    path = files("evergold.checks").joinpath("phrases", f"{language}.toml")
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise BadInput(f"phrase file {language}.toml cannot be read as UTF-8 TOML: {problem}") from problem
    words: dict[str, str] = table.get("words", {})
    # What is in braces and no word is a repeat count.
    fill = partial(re.sub, r"\{(\w+)\}", lambda named: words.get(named[1], named[0]))
    return {name: [*map(fill, patterns)] for name, patterns in table["sets"].items()}


LONGEST = 1500  # a longer reply has content, whatever its opening
CONTENT = 20  # so many letters of content make an answer
FINE = CheckResult(1.0, "the reply is an answer")
CALLED = CheckResult(1.0, "the turn ended with a tool call that was made")

_CLAUSES = re.compile(
    r"(?<=[.!?])\s+|\n+|(?<=[a-z])[;:]\s+|(?:, +|(?<! ) +)(?:but|pero|aunque|although|so i'm unable) +|"
    r"[,.] +however,? +| - "
)
_NOTHING = frozenset(
    {"null", "undefined", "none", "nan", "[object object]", "n/a", "nil", "error", "{}", "[]", '""', "''"}
)
_CALL_TAGS = re.compile(
    r"\s*(?:<\|?(?:tool_call|function_call|tool_calls|python_tag|invoke|function)\b|\[tool_calls\]|<function=|"
    r"action:.{0,80}\n\s*action input:)",
    re.S,
)
# Pairs of keys by which frameworks write a call as JSON: a name and what is given to it.
_CALL_KEYS = (
    ("name", "arguments"), ("name", "args"), ("name", "parameters"), ("name", "input"), ("tool", "args"),
    ("tool", "arguments"), ("tool", "input"), ("tool_name", "tool_input"), ("action", "action_input"),
    ("function", "arguments"),
)  # fmt: skip
_CALLING = frozenset({"tool_calls", "tool_call", "tool_use", "function_call", "tool-calls"})
# RE2 looks at a long reply once; the alternatives of `re` are tried at every position.
_TRACE = re2.compile(
    r"(?m)traceback \(most recent call last\)|^[^\S\n]*file \"[^\"]+\", line \d+|^[^\S\n]+at [\w$.<>\[\] ]+\s?\(.*\)|"
    r"^[^\S\n]+at .+:\d+|exception in thread|goroutine \d+ \[|^[^\S\n]+at \S+\.\w+\(.*\)? in .+:line \d+|^caused by: |"
    r"thread '.*' panicked at"
)
_HTML_ERROR = re.compile(
    r"\s*<(?:!doctype|html)\b.{0,400}(?:<title>|<h1>)[^<]*"
    r"(?:\b[45]\d\d\b|error|not found|bad gateway|unavailable)",
    re.S,
)
_TALKS = re2.compile(
    r"\b(?:traceback|stack ?trace|exception|errors?|log|logs|crash\w*|example|sample|ejemplo|excepcion\w*|errores)\b"
)
# An answer that reports a past fault is content; without this it would count as an error text.
# A report about an earlier fault has a time or says how it ended.
_REPORT = re.compile(
    r"\d{1,2}[:.h]\d\d|"
    r"\b(?:successfully|since|until|fixed|repaired|resolved|restored|desde|hasta|reparad[oa]|resuelto)\b"
)
_JSON_ASKED = re.compile(r"\bjson\b|\bschema\b|\bpayload\b|\barray\b|\bdictionary\b")
# How programs begin a text that reports an error, in any markup: the word with a colon, a dash or nothing behind it, or the name
# of an exception; "Error: none" reports none.
_OPENS_AS_ERROR = re.compile(
    r"\W*(?:ERROR\b(?!:)|(?:(?:\w+\.)*\w*(?:Error|Exception)|(?i:(?:\w+_)?error|errore|erro|erreur|fehler|failed|failure|fatal|"
    r"exception|fallo)|エラー|错误|錯誤|오류)[*_`\s]*(?:[:：(](?!\s*(?i:none|null|false|0)\b)|[!>]|- |$))"
)
# A single sentence that says what was not done; a question of that kind is the title of a help page.
_NOT_DONE = re2.compile(
    r"(?:failed to|unable to|(?:could|can) ?no?'?t|no (?:se pudo|fue posible|ha sido posible)) [^?\n]{1,200}"
)
_ERROR_KEY = re.compile(r"(?:is)?(?:errors?|exception|erro|erreur|errore|fehler)(?:message|msg|code|type)?")
_SUCCESS_KEYS = frozenset({"ok", "success", "isok", "issuccess", "exito", "sucesso", "succes", "successo", "erfolg"})
_STATUS_KEYS = frozenset({"status", "estado", "statut", "statuscode", "httpstatus", "httpstatuscode"})
_FAILED_STATUS = frozenset({"error", "failed", "failure", "fail", "erro", "fehler", "fallido", "fallida"})
_NO_VALUE = frozenset({"", "0", "false", "no", "none", "null", "ok", "success"})
# What frameworks and tools put around a result.
_AROUND_RESULT = ("result", "response", "output", "content", "text")
_PRINTED_DICT = re.compile(r"\s*[\[(]?\{\s*'")
_DEEPEST_RESULT = 4
SHORT_RESULT = 300  # characters; a longer text says more than an error
_EMPTY_RESULT = re2.compile(
    r"\bno (?:output|content|results?|answer)\b|\bnot found\b|\bno such\b|^errors?: (?:none|null|0)\b"
)
_DENIES = re2.compile(
    r"\b(?:no|not|cannot|\w+n't|never|unable|fail\w*|errors?|problem\w*|issue|ni|sin|tampoco|nunca|imposible|fallo\w*)\b"
)
_QUOTES = "\"'«“"
_DELIVERED = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s|```|^\s*\|.*\|", re.M)  # a list, code or a table: something was given


class Answered:
    """1.0 for an answer; 0.0 for nothing, an error text, a stack trace or a raw call; 0.5 for a refusal or an apology; no result
    where no answer was exported."""

    name: ClassVar[str] = "answered"
    version: ClassVar[str] = "4"

    def __init__(self, fallback_texts: tuple[str, ...] = ()) -> None:
        self._own = tuple(
            (fold_text(text).strip().removesuffix("*").strip(" .!"), text.rstrip().endswith("*"))
            for text in fallback_texts
        )

    def check(self, turn: Turn) -> CheckResult | None:
        """Judge the reply of a turn that has ended."""
        if turn.output is None and Gap.NO_ANSWER in (turn.gaps or "").split():
            return None
        reply = (turn.output or "").strip()
        # A reply without a letter or digit may still be an answer: an emoji, a check mark.
        if not any(map(str.isalnum, reply)):
            return FINE if has_signs(reply) else CheckResult(0.0, "the reply is empty", reply[:40])
        if reply.casefold() in _NOTHING:
            return CheckResult(0.0, "the reply is a placeholder for no value", reply)
        # Folding costs time in proportion to the text, and only the opening decides.
        head = fold_text(reply[: LONGEST * 2])
        if phrase := self._own_text(head):
            return phrase
        return _find_raw(reply, head, turn) or _stack_trace(head, turn) or _find_phrase(reply, head) or FINE

    def _own_text(self, head: str) -> CheckResult | None:
        bare = head.strip().strip(" .!")
        for text, opening in self._own:
            if text and (bare.startswith(text) if opening else bare == text):
                return CheckResult(0.5, "the reply is one of the fallback texts of the settings", text)
        return None


def has_signs(text: str) -> bool:
    """Whether a text has a sign beyond letters with marks, such as a picture."""
    return any(sign.isprintable() and not sign.isspace() and ord(sign) > 0x2FF for sign in text)


def _find_raw(reply: str, head: str, turn: Turn) -> CheckResult | None:
    """Find a tool call, an error object, JSON nobody asked for, or an error page."""
    if _CALL_TAGS.match(head):
        return CheckResult(0.0, "the reply is a tool call as text", reply[:80])
    if _HTML_ERROR.match(head):
        return CheckResult(0.0, "the reply is an error page", reply[:80])
    if reply[0] not in "{[":
        return None
    try:
        value = json.loads(reply)
    except ValueError:
        return None
    items = value if isinstance(value, list) else [value]
    objects = [item for item in items if isinstance(item, dict)]
    # Every element must be a call: a list that only contains one among other things is data.
    if objects and all(map(_is_call, objects)) and len(objects) == len(items):
        if _has_called(objects, turn):
            return CALLED
        return CheckResult(0.0, "the reply is a tool call as text", reply[:80])
    # A question that is JSON itself expects JSON back.
    asked = (turn.output_type or "").startswith("json") or _JSON_ASKED.search(fold_text(turn.input[:4000]))
    if asked or turn.input.lstrip()[:1] in ("{", "["):
        return None
    if len(objects) == 1 and _is_error(objects[0]):
        return CheckResult(0.0, "the reply is an error object", reply[:80])
    if turn.own_format:
        return None
    return CheckResult(0.5, "the reply is raw JSON that nobody asked for", reply[:80]) if objects else None


def _is_call(item: dict[str, object]) -> bool:
    inner = item.get("function")
    if isinstance(inner, dict):
        return "name" in inner
    return any(name in item and given in item and isinstance(item[name], str) for name, given in _CALL_KEYS)


def _has_called(calls: list[dict[str, object]], turn: Turn) -> bool:
    """Whether the calls were made: these tools ran, or the model stopped to call them. Such a reply is shown as JSON."""
    if turn.finish_reasons and turn.finish_reasons[-1].lower() in _CALLING:
        return True
    ran = {step.name for step in turn.tools}
    for call in calls:
        inner = call.get("function")
        flat = next((call[name] for name, given in _CALL_KEYS if name in call and given in call), None)
        if (inner.get("name") if isinstance(inner, dict) else flat) not in ran:
            return False
    return True


def _is_error(item: dict[str, object]) -> bool:
    folded = {re.sub(r"[\W_]", "", fold_text(str(key))): value for key, value in item.items()}
    for key, value in folded.items():
        plain = fold_text(str(value)) if isinstance(value, str | int | float) else None
        if _ERROR_KEY.fullmatch(key) and value and plain not in _NO_VALUE:
            return True
        if (key in _SUCCESS_KEYS and plain in ("false", "no")) or (key == "failed" and value is True):
            return True
        if key in _STATUS_KEYS and (plain in _FAILED_STATUS or (type(value) is int and 400 <= value < 600)):
            return True
    message = fold_text(str(item.get("message") or item.get("detail") or ""))
    return len(item) <= 3 and bool(message) and phrases()["error"].fullmatch(message.strip(" .!")) is not None


def reports_failure(result: object, depth: int = 0) -> bool:
    """Whether the result of a tool says that the call failed: an error object, or a text that begins as an error, whatever is
    put around it."""
    value = decode_json(result)
    if isinstance(value, str):
        value = parse_printed(f"Result(result={value})" if _PRINTED_DICT.match(value) else value)
    if isinstance(value, str):
        return _begins_as_error(value.strip())
    if isinstance(value, list):
        value = {"result": value[0]} if len(value) == 1 else {}
    if not isinstance(value, dict) or depth > _DEEPEST_RESULT:
        return False
    return _is_error(value) or any(reports_failure(value[key], depth + 1) for key in _AROUND_RESULT if value.get(key))


def _begins_as_error(text: str) -> bool:
    head = fold_text(text[:LONGEST])
    if _OPENS_AS_ERROR.match(text) or _TRACE.match(head) or _NOT_DONE.fullmatch(head):
        return True
    bare = head.rstrip(" .!")
    # Commands that print nothing, and searches that find nothing, did what they were asked.
    if _EMPTY_RESULT.search(bare):
        return False
    first = next(_clauses(head), "") if len(text) <= SHORT_RESULT else ""
    return phrases()["technical"].fullmatch(bare) is not None or (bool(first) and _kind(first)[0] == "error")


def admits_failure(answer: str) -> bool:
    """Whether an answer may say that something did not work: it refuses, apologises, or denies anything at all."""
    head = fold_text(answer[: LONGEST * 2])
    return _DENIES.search(head) is not None or any(
        _kind(clause)[0] not in ("content", "filler") for clause in _clauses(head)
    )


def _stack_trace(head: str, turn: Turn) -> CheckResult | None:
    first = _TRACE.search(head)
    # A user who pasted a trace or asks about errors gets an answer that quotes one.
    if first is None or _TALKS.search(fold_text(turn.input[:4000])):
        return None
    lines = [line for line in head.split("\n") if line.strip()]
    traced = sum(1 for line in lines if line[:1] in " \t" or _TRACE.search(line))
    if first.start() < 120 and traced * 2 >= len(lines) - 1:
        return CheckResult(0.0, "the reply is a stack trace", lines[0][:80])
    return None


def _find_phrase(reply: str, head: str) -> CheckResult | None:
    """Find a reply that opens with an error, a refusal or an apology and has no content beside it."""
    # A quoted refusal is an example in an answer, not the answer.
    if len(reply) > LONGEST or reply[0] in _QUOTES:
        return None
    sets = phrases()
    if sets["technical"].fullmatch(head.strip().rstrip(" .!")):
        return CheckResult(0.0, "the reply is an error text", reply[:80])
    first, evidence, content, apologised, declined = None, "", 0, False, False
    for clause in _clauses(head):
        kind, sorry = _kind(clause, declined=declined, begun=apologised)
        apologised = apologised or (first is None and sorry)
        if first is None and kind in ("error", "refusal", "inability"):
            first, evidence, declined = kind, clause, kind == "inability"
        elif kind == "content":
            # Content before any apology or error: the reply answers first.
            if first is None and not apologised:
                return None
            content += len(clause)
    if declined and _DELIVERED.search(reply):
        return None
    if content > CONTENT or (first is None and (content or not apologised)):
        return None
    if first == "error" and not apologised:
        return CheckResult(0.0, "the reply is an error text", evidence[:80])
    refuses = "the reply refuses or has no answer"
    reason = {"error": "the reply apologises for an error", "refusal": refuses, "inability": refuses}
    return CheckResult(
        0.5, reason.get(first or "", "the reply is an apology without an answer"), (evidence or head)[:80]
    )


def _clauses(head: str) -> Iterator[str]:
    for clause in _CLAUSES.split(head):
        bare = (clause or "").strip(" \t.!,;:-*_#>()\"'")
        if bare:
            yield bare


def _kind(clause: str, *, declined: bool = False, begun: bool = False) -> tuple[str, bool]:
    """Say what a clause is, and whether it begins with an apology.

    `begun`: the reply has apologised before; `declined`: it has said before that it is not able to.
    """
    sets = phrases()
    if sets["apology"].fullmatch(clause):
        return "apology", True
    clause, sorry, as_ai = _strip_courtesies(clause)
    if not clause:
        return ("apology" if sorry else "filler"), sorry
    if sets["apology"].fullmatch(clause):
        return "apology", True
    if (sets["error"].fullmatch(clause) or sets["technical"].fullmatch(clause)) and not _REPORT.search(clause):
        return "error", sorry
    if (sorry or as_ai or begun) and sets["inability"].match(clause):
        return "inability", sorry
    if sets["refusal"].match(clause):
        return "refusal", sorry
    filler = sets["filler"].fullmatch(clause) or (declined and sets["excuse"].fullmatch(clause))
    return ("filler" if filler else "content"), sorry


def _strip_courtesies(clause: str) -> tuple[str, bool, bool]:
    """Take courtesies off the beginning of a clause, and say whether one of them apologised or said "as an AI"."""
    sets = phrases()
    sorry, as_ai, stripped = False, False, True
    # Several courtesies may stand in a row ("Hi! Thanks for asking. Unfortunately …").
    while stripped:
        opening, self_named = sets["opening"].match(clause), sets["self_named"].match(clause)
        courtesy = opening or self_named or sets["courtesy"].match(clause)
        stripped = courtesy is not None and courtesy.end() > 0
        if courtesy is not None and stripped:
            sorry, as_ai = sorry or opening is not None, as_ai or self_named is not None
            clause = clause[courtesy.end() :]
    return clause, sorry, as_ai
