"""What checks and detectors read and return: turns, check results, remarks of users on earlier answers. Pure values.

`admits`, `regrets`, `agrees`: whether a reply concedes that the one before it was wrong; then it is the corrected answer.
"""

import re
import unicodedata
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from pydantic import BaseModel

from evergold.model.trace import ScoreSource, TraceStatus


# Dataclasses and no pydantic models: one is made for each turn that checks see, and its values were validated before.
@dataclass(frozen=True, slots=True)
class ToolStep:
    """One tool call of a trace, in the order of time."""

    name: str
    failed: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """A trace as checks see it: the question, the answer, how it ended, and what the user asked afterwards.

    `next_input` is the user's next message in the session, `next_seconds` how long after this turn it came, `next_output`
    the answer it got. `cost` is reported or priced, None where it is not known. `kinds` are those of its spans, `incomplete` what
    was found before that it lacks.
    """

    id: str
    input: str
    output: str | None
    status: TraceStatus = TraceStatus.COMPLETED
    name: str = ""
    started_at: str | None = None
    ended_at: str | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    tools: tuple[ToolStep, ...] = ()
    finish_reasons: tuple[str, ...] = ()
    output_type: str | None = None
    contexts: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()
    next_input: str | None = None
    next_seconds: float | None = None
    next_output: str | None = None
    cost: float | None = None
    incomplete: str = ""


@dataclass(frozen=True, slots=True)
class CheckResult:
    """A value from 0 to 1 with the reason and the words or figures it rests on."""

    value: float
    reason: str
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """One check's outcome on one trace: a result, nothing where it does not apply, or the error that stopped it."""

    trace_id: str
    check: str
    version: str
    result: CheckResult | None = None
    error: str | None = None
    source: ScoreSource = ScoreSource.SYSTEM


class RemarkKind(StrEnum):
    """What a message says of an earlier answer: what is right instead, that it is wrong, that it may be, the question again."""

    CORRECTION = "correction"
    COMPLAINT = "complaint"
    DOUBT = "doubt"
    REPEAT = "repeat"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """A question and its answer before the message, and how many seconds lie between the two messages (None: unknown)."""

    id: str
    input: str
    output: str | None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A message, the turns before it in its session (the latest first), and the answer that it got, where there is one."""

    id: str
    text: str
    earlier: tuple[EarlierTurn, ...]
    reply: str | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """What a message says, of which turn, how probably, and the words or facts that decided."""

    kind: RemarkKind
    trace_id: str
    probability: float
    evidence: tuple[str, ...] = ()


class ShownRemark(BaseModel, frozen=True, extra="forbid"):
    """A remark as people see it: the message, the turn it is on, what it says, how probably, by what words, who found it."""

    message_id: str
    target_id: str
    kind: RemarkKind
    probability: float
    evidence: tuple[str, ...] = ()
    detector: str = ""
    message: str = ""


_ADMITS = re.compile(
    r"\b(?:you(?:'re| are) (?:absolutely |completely |quite )?(?:right|correct)|my (?:mistake|bad|apologies|error)|"
    r"i stand corrected|"
    r"i (?:was wrong|made a mistake|misread|misunderstood|got (?:it|that) wrong)|(?:i )?apologi[sz]e|"
    r"sorry (?:about|for) (?:that|the)|"
    r"thanks? (?:you )?for (?:the correction|correcting|pointing)|good catch|"
    r"tienes (?:toda la )?razon|tiene (?:usted )?razon|mi error|me equivoque|me confundi|mis disculpas|disculpa|perdon|"
    r"gracias por (?:la correccion|corregir\w*|avisar\w*))\b"
)
# What grants a user's statement; after a question it may only confirm ("is it at 5?" "Correct, at 5").
_AGREES = re.compile(
    r"(?:(?:oh|ah|hm+|yes|si|ay|ups|oops|vaya),? )?(?:(?:good|fair|great) (?:point|catch|spot)|"
    r"that(?:'s| is) (?:true|right|correct)|"
    r"true|correct|right|fair enough|cierto|correcto|(?:es|muy) (?:cierto|verdad)|verdad|bien visto|buen punto|en efecto|"
    r"efectivamente|thank(?:s| you) for (?:checking|letting (?:me|us) know|the (?:update|heads[- ]up|clarification)|"
    r"telling (?:me|us)|flagging|spotting|noticing|clarifying)|gracias por (?:la (?:aclaracion|informacion)|aclarar\w*|"
    r"decir\w*|el aviso))\b"
)
# An apology that leads up to a refusal ("I apologize, but I cannot …") admits no mistake.
_EXCUSES = re.compile(
    r"\b(?:apologi[sz]e|(?:my|our) apologies|sorry|mis disculpas|disculpa\w*|perdon\w*)\b(?: (?:for|"
    r"por)[^.!?]{0,40}?)?[,;]? "
    r"(?:but|however|pero|sin embargo|aunque|as an?|como (?:un |una )?(?:modelo|ia|inteligencia))\b"
)
# An apology for something else than the answer: a delay, the system, what cannot be done, a word that was not understood.
_ELSEWHERE = re.compile(
    r"\b(?:apologi[sz]e|(?:my|our) apologies|sorry|disculpa\w*|perdon\w*|lo siento)\b[,.!]? ?(?:"
    r"(?:for|about|por) (?:the|any|this|la|el|las|los) (?:delay|wait|interruption|technical \w+|late \w+|demora|espera|"
    r"tardanza|retraso)|"
    r"(?:but )?(?:i|we|it|there)(?:'m| am| are|'re)? (?:can ?not|can't|could ?n[o']t|couldn't|do not|don't|did not|"
    r"didn't|unable|"
    r"not able|was (?:an?|some) (?:error|problem|issue) (?:in|with) (?:our|my|the) (?:system|server|connection))|"
    r"no (?:puedo|podemos|tengo|tenemos|encuentro|hay))\b"
)
# An apology for what may have been: polite after a complaint, and after many other messages.
_REGRETS = re.compile(
    r"\b(?:apologi[sz]e|apologies|sorry) (?:if|for any|that (?:you|my))\b|\b(?:disculpas|perdon) si\b"
)
# The last sentence of a reply that asks for more instead of answering; an offer of further help asks for nothing.
_ASKS_BACK = re.compile(
    r"\b(?:can|could|would|will) you (?:please |kindly )?(?:provide|clarify|specify|tell|give|explain|rephrase|"
    r"share|elaborate|confirm)\b|"
    r"\b(?:podrias?|puedes?|podria usted|puede) (?:por favor )?(?:indicar|aclarar|especificar|decir|dar|explicar|"
    r"proporcionar)\w*\b|"
    r"^(?:so,? |and |ok,? |y )?(?:what|which|where|when|who|whom|are you|do you|did you|que|cual|donde|cuando|"
    r"quien)\b[^?]*\?$|"
    r"\b(?:your|tu|su) [^.?]{2,40}, (?:please|por favor)\?$"
)
_OFFERS = re.compile(r"\b(?:anything else|something else|else i can|help you with|algo mas|ayudarte en)\b")
SHORT_REPLY = 300  # characters; a longer reply has answered before it asks
OPENING = 200  # an admission stands at the beginning


def admits(reply: str | None) -> bool:
    """Whether a reply opens by admitting a mistake."""
    opening = _fold_opening(reply)
    certain = _REGRETS.sub(" ", _ELSEWHERE.sub(" ", _EXCUSES.sub(" ", opening)))
    return _ADMITS.search(certain) is not None


def regrets(reply: str | None) -> bool:
    """Whether a reply opens by apologising for what may have been wrong ("I apologize if …", "for any confusion")."""
    return _REGRETS.search(_ELSEWHERE.sub(" ", _EXCUSES.sub(" ", _fold_opening(reply)))) is not None


def agrees(reply: str | None) -> bool:
    """Whether a reply opens by granting what the user stated."""
    return _AGREES.match(_fold_opening(reply)) is not None


def grants(reply: str | None) -> bool:
    """Whether a reply opens by admitting a mistake, regretting one or agreeing: then it may be the corrected answer."""
    return admits(reply) or regrets(reply) or agrees(reply)


def asks_back(reply: str | None) -> bool:
    """Whether a short reply ends by asking the user for more: it is no corrected answer yet."""
    plain = _fold((reply or "").strip())
    if len(plain) > SHORT_REPLY:
        return False
    last = re.split(r"(?<=[.!?;]) +", plain)[-1]
    return _ASKS_BACK.search(last) is not None and _OFFERS.search(last) is None


def _fold_opening(reply: str | None) -> str:
    # Accents are removed ("razón" → "razon"), so the patterns above are written without them.
    return _fold((reply or "")[:OPENING]).lstrip(' ¡!"')


def _fold(text: str) -> str:
    bare = unicodedata.normalize("NFD", text.casefold().replace("’", "'"))
    return "".join(sign for sign in bare if not unicodedata.combining(sign))
