"""Is there anything in a turn to evaluate? A message of courtesies alone ("thanks", "ok", a thumb up) that got a courtesy is
kept out of the golden set; it is no failure.

The rule is narrow on purpose, because a short request is a request: every word of the message must be a courtesy, it must ask
nothing, no tool may have been called, and the answer must be short, show courtesy and hold no figure, code, list or link. After a
word that may let something be done ("ok", "yes"), each clause of the answer must be a courtesy.
"""

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import ClassVar

from evergold.model.checking import CheckResult, Turn
from evergold.text.folding import folded

LONGEST = 80  # characters of a message that may be a courtesy
MOST_WORDS = 9
MOST_ANSWER_WORDS = 45
MOST_ANSWER_SIGNS = 300
_WORDS = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_ASKS = re.compile(r"[?？؟;：:=/\\<>{}\[\]+*\d]")
_CLAUSES = re.compile(r"[.!?,;。！？，、\n]+")
_GIVES = re.compile(r"\d|```|https?:|^\s*(?:[-*•]|\|)\s", re.M)
# Faces, hands, hearts and what goes with them; other pictures may be a riddle or a question.
_GESTURES = re.compile(
    "[\U0001f600-\U0001f64f\U0001f442-\U0001f450\U0001f490-\U0001f49f\U0001f389\U0001f38a\U0001f4aa\U0001f4af\U0001f525"
    "\U0001f90c-\U0001f93a\U0001f970-\U0001f97a\U0001fae0-\U0001faf8\u2600\u263a\u2639\u2705\u2714\u270a-\u270d\u2728\u2764\u2b50"
    "\U0001f31f\U0001f3fb-\U0001f3ff\ufe0f\u200d]+"
)
_SMILEYS = re.compile(r"(?<!\w)[:;]-?[)DPp](?!\w)|<3|\^\^")


@dataclass(frozen=True)
class Courtesies:
    """The words of `phrases/courtesies.toml`, folded."""

    courteous: frozenset[str]
    assenting: frozenset[str]
    beside: frozenset[str]
    after_thanks: frozenset[str]
    replying: frozenset[str]
    replying_parts: frozenset[str]


class Substance:
    """0.5 when message and answer are courtesies alone; no result for every other turn."""

    name: ClassVar[str] = "substance"
    version: ClassVar[str] = "1"

    def check(self, turn: Turn) -> CheckResult | None:
        # A call shows that the message let something be done, however short it is.
        if turn.tools or len(turn.input) > LONGEST or not turn.output:
            return None
        kind = courtesy(turn.input)
        if kind is None or not is_courteous_answer(turn.output, strict=kind == "assenting"):
            return None
        return CheckResult(0.5, "no substance: the message is a courtesy and so is the answer", turn.input.strip())


def courtesy(message: str) -> str | None:
    """Say which kind of courtesy a message is, None where it is anything else or nothing."""
    bare, gestures = _GESTURES.subn(" ", _SMILEYS.sub(" \U0001f642 ", message))
    if _ASKS.search(bare):
        return None
    words = _WORDS.findall(folded(bare))
    if not words:
        # Signs that are no gestures may mean anything.
        wordless = gestures and not any(
            sign.isprintable() and not sign.isspace() and ord(sign) > 0x2FF for sign in bare
        )
        return "courteous" if wordless else None
    known = courtesies()
    core = [word for word in words if word in known.courteous or word in known.assenting]
    others = {word for word in words if word not in core} - known.beside
    if not core or len(words) > MOST_WORDS or (others - known.after_thanks):
        return None
    if others and core[0] not in known.courteous:
        return None
    # A word of both kinds is read by the stricter rule.
    return "courteous" if any(word in known.courteous and word not in known.assenting for word in core) else "assenting"


def is_courteous_answer(answer: str, *, strict: bool) -> bool:
    """Whether an answer shows courtesy and gives nothing else; `strict`: each of its clauses must show it."""
    if len(answer) > MOST_ANSWER_SIGNS or _GIVES.search(answer):
        return False
    text = folded(answer)
    if len(_WORDS.findall(text)) > MOST_ANSWER_WORDS:
        return False
    clauses = [clause for clause in _CLAUSES.split(text) if _WORDS.search(clause)] if strict else [text]
    return all(map(_shows_courtesy, clauses))


def _shows_courtesy(clause: str) -> bool:
    known, words = courtesies(), _WORDS.findall(clause)
    if any(word in known.replying or word in known.courteous for word in words):
        return True
    # "Okay then" says nothing by itself, and an answer of signs alone is a gesture.
    return all(word in known.assenting or word in known.beside for word in words) or any(
        part in clause for part in known.replying_parts
    )


@cache
def courtesies() -> Courtesies:
    """Read the words once."""
    table = tomllib.loads(files("evergold.checks").joinpath("phrases", "courtesies.toml").read_text("utf-8"))["words"]
    return Courtesies(**{name: frozenset(folded(" ".join(lines)).split()) for name, lines in table.items()})
