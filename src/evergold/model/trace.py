"""A trace: one interaction of an app with a model, its spans, scores, corrections, reactions, tags and comments.

One emoji has many spellings: with a skin tone, with a variation selector that asks for the coloured form, or with both.
They are folded to one before the table of values is read, so that 👍🏽 and 👍 have the same value.
"""

from __future__ import annotations

import json
from collections import Counter
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, Field, ValidationInfo, field_validator, model_validator

from evergold.model.limits import UtcTime, Values


def without_nul(value: str) -> str:
    """An id is a key of the store, which holds every character but this one."""
    if "\x00" in value:
        raise ValueError("the character NUL cannot stand here")
    return value


def not_blank(value: str) -> str:
    """Something other than blanks."""
    if not value.strip():
        raise ValueError("there is nothing in it but blanks")
    return value


Ident = Annotated[str, Field(min_length=1, max_length=512), AfterValidator(without_nul)]
OF_LINES = frozenset({"type", "trace_id"})  # what a span or score has only on a line of its own
CONVERSATION = ("messages", "tools", "contexts")
LONG = 500  # items of a list that is kept as JSON text
CHECK_KEY = "check:"  # how the key of a score by a check begins
DETECTED_KEY = "detected:"  # and that of a score derived from a remark, before the id of the trace with the message
# Their doubts come from the form and the words of a conversation: an outcome that the app states says more.
PRESUMING_CHECKS = (
    "answered",
    "language_match",
    "not_repeated",
    "not_given_up",
    "not_handed_over",
    "substance",
    "tool_ok",
)
UnitValue = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False)]


class ScoreSource(StrEnum):
    SYSTEM = "system"
    USER = "user"
    HUMAN = "human"
    LLM_JUDGE = "llm_judge"


class TraceStatus(StrEnum):
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"


class TraceOutcome(StrEnum):
    """What became of a trace: the tier of its case, or none. Of several cases the first of these counts."""

    FAILURE = "failure"
    CORRECTION = "correction"
    GOLDEN = "golden"
    CANDIDATE = "candidate"
    NONE = "none"


class HitPart(StrEnum):
    """Where a trace holds the words of a search."""

    QUESTION = "question"
    ANSWER = "answer"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    STEP = "step"
    ERROR = "error"
    NAME = "name"


class TraceHit(BaseModel, frozen=True):
    """The passage of a trace that holds most words of a search: where it stands, and the part of it around them.

    `name`: of the tool or step; `turn`: of the conversation, from 1. Each second piece of the excerpt is what was searched.
    """

    part: HitPart
    name: str | None = None
    turn: int | None = None
    excerpt: tuple[str, ...]


class Gap(StrEnum):
    """What a trace lacks to be evaluated at all, whatever its scores: it is then incomplete, neither golden nor a failure."""

    NO_QUESTION = "no_question"
    NO_ANSWER = "no_answer"
    QUESTION_NOT_FROM_A_PERSON = "question_not_from_a_person"
    ENVELOPE = "envelope"
    TOOLS_MISSING = "tools_missing"
    NO_INTERACTION = "no_interaction"


class Score(BaseModel, frozen=True, extra="forbid"):
    """One opinion about a trace (or one of its spans): a value in [0, 1], and whose it is.

    `key` makes a score replaceable: a later score with the same key on the same trace takes its place (a changed
    reaction). Without one, equal content is the same score and different content is a further one. `id` and `version` (of the
    check that gave it) come from the store; they are ignored when a score is sent.
    """

    name: Ident
    value: UnitValue
    source: ScoreSource = ScoreSource.SYSTEM
    comment: str | None = None
    span_id: str | None = None
    key: str | None = None
    created_at: UtcTime | None = None
    id: int | None = None
    version: str | None = None

    @property
    def by_check(self) -> bool:
        """Whether a check of this workspace gave the score, and not the app or a person."""
        return self.key is not None and self.key.startswith(CHECK_KEY)

    @property
    def presumes(self) -> bool:
        """Whether a check that presumes gave the score: it counts only where the app itself has not called the answer good."""
        return self.by_check and self.name in PRESUMING_CHECKS

    @property
    def by_detector(self) -> bool:
        """Whether the score was derived from what the user wrote next."""
        return self.key is not None and self.key.startswith(DETECTED_KEY)


def with_conversation(fields: Any) -> Any:
    """Move `messages`, `tools` and `contexts` of a record into its metadata, where conversations are read from.

    A long list is kept as its JSON text: a conversation of thousands of turns is data, not thousands of keys.
    """
    if not isinstance(fields, dict):
        return fields
    metadata = fields.get("metadata")
    inside = metadata if isinstance(metadata, dict) else {}
    # Most records have no conversation beside their texts, and this runs for every one of them.
    if not any(key in fields or key in inside for key in CONVERSATION):
        return fields
    given = {key: fields[key] for key in CONVERSATION if isinstance(fields.get(key), list | dict | str)}
    # A conversation may be inside `metadata` already; it is made text there as well, or 10,000 keys would refuse the
    # record.
    long = {key: value for key in CONVERSATION if isinstance(value := given.get(key, inside.get(key)), list)}
    texts = {
        key: json.dumps(value, ensure_ascii=False, default=str) for key, value in long.items() if len(value) > LONG
    }
    if not given and not texts:
        return fields
    rest = {key: value for key, value in fields.items() if key not in given}
    return {**rest, "metadata": {**inside, **given, **texts}}


def with_app(fields: Any) -> Any:
    """Take service and name from `app` (`service/name`) where a record says neither."""
    app = fields.get("app") if isinstance(fields, dict) else None
    if not isinstance(app, str) or not app or fields.get("name"):
        return fields
    metadata = fields.get("metadata") or {}
    if not isinstance(metadata, dict) or "services" in metadata:
        return fields
    service, _, name = app.rpartition("/")
    return {**fields, "name": name, "metadata": metadata | ({"services": [service]} if service else {})}


class Span(BaseModel, frozen=True, extra="forbid"):
    """One step inside a trace. `kind`: llm, tool, retriever, agent, chain, embedding or span.

    `messages`, `tools` and `contexts` may be given beside the other fields; they are kept in `metadata`.
    """

    _conversation = model_validator(mode="before")(with_conversation)
    also_takes: ClassVar[tuple[str, ...]] = CONVERSATION

    id: Ident
    parent_id: str | None = None
    name: str = ""
    kind: str = "span"
    input: str | None = None
    output: str | None = None
    status: TraceStatus = TraceStatus.COMPLETED
    started_at: UtcTime | None = None
    ended_at: UtcTime | None = None
    metadata: Values = Field(default_factory=dict)


class Trace(BaseModel, frozen=True, extra="forbid"):
    """One interaction: what came in, what went out, how it ended.

    `messages` (the whole exchange in OpenAI's chat shape, or any other that is known), `tools` (function schemas) and
    `contexts` (what was retrieved) may be given beside the other fields; they are kept in `metadata`.
    `cost` is in US dollars: `reported` by the trace or its spans, else `priced` from their models and tokens, else null, which
    is not free. One that is sent counts as reported, unless it says that it is priced: then it is computed anew.
    `incomplete` (what it lacks to be evaluated) comes from the store and is ignored when it is sent; `app` (`service/name`) is
    read where neither is given.
    """

    _conversation = model_validator(mode="before")(with_conversation)
    also_takes: ClassVar[tuple[str, ...]] = CONVERSATION
    _app = model_validator(mode="before")(with_app)

    type: Literal["trace"] = "trace"
    id: Ident
    session_id: str | None = None
    user_id: str | None = None
    name: str = ""
    input: str = ""
    output: str | None = None
    status: TraceStatus = TraceStatus.COMPLETED
    started_at: UtcTime | None = None
    ended_at: UtcTime | None = None
    tags: tuple[str, ...] = ()
    metadata: Values = Field(default_factory=dict)
    spans: tuple[Span, ...] = ()
    scores: tuple[Score, ...] = ()
    cost: Annotated[float, Field(ge=0, lt=2**53, allow_inf_nan=False)] | None = None
    cost_source: Literal["reported", "priced"] | None = None
    incomplete: tuple[Gap, ...] = ()
    app: str = ""

    @field_validator("spans", "scores", mode="before")
    @classmethod
    def of_this_trace(cls, items: Any, info: ValidationInfo) -> Any:
        """A span or score that is written as a line of its own may stand here too, if it is this trace that it names."""
        # `id` is declared before `spans`, so it is validated by now; it is missing only where it was itself wrong.
        return [_own(item, info.data.get("id")) for item in items] if isinstance(items, (list, tuple)) else items

    @field_validator("spans", mode="after")
    @classmethod
    def each_once(cls, spans: tuple[Span, ...]) -> tuple[Span, ...]:
        if len({span.id for span in spans}) < len(spans):
            twice = next(name for name, number in Counter(span.id for span in spans).items() if number > 1)
            raise ValueError(f"span id {twice!r} is there twice; a trace has each span once")
        return spans


def _own(item: Any, trace_id: str | None) -> Any:
    if not isinstance(item, dict) or OF_LINES.isdisjoint(item) or item.get("type", "span") not in ("span", "score"):
        return item
    named = item.get("trace_id", trace_id)
    if trace_id is not None and named != trace_id:
        raise ValueError(f"trace_id {named!r} is not the id of its trace, {trace_id!r}; send it as a line of its own")
    return {key: value for key, value in item.items() if key not in OF_LINES}


class SpanLine(Span, frozen=True):
    """A span that arrives on its own and names its trace; the summary of the trace is rebuilt from all its spans."""

    type: Literal["span"] = "span"
    trace_id: Ident


class ScoreLine(Score, frozen=True):
    """A score that arrives on its own and names its trace."""

    type: Literal["score"] = "score"
    trace_id: Ident


class CorrectionKind(StrEnum):
    """Whether a correction's text is the right answer itself, or the user's words about the wrong one."""

    ANSWER = "answer"
    REMARK = "remark"


class Correction(BaseModel, frozen=True, extra="forbid"):
    """What a person said the answer should have been."""

    type: Literal["correction"] = "correction"
    trace_id: Ident
    kind: CorrectionKind = CorrectionKind.ANSWER
    text: Annotated[str, Field(min_length=1), AfterValidator(not_blank)]
    author: str | None = None


class Reaction(BaseModel, frozen=True, extra="forbid"):
    """An emoji put on a reply; `emoji` null (or empty, as messengers say it) takes the reaction away again."""

    type: Literal["reaction"] = "reaction"
    trace_id: Ident
    emoji: Annotated[str | None, AfterValidator(lambda emoji: emoji if emoji and emoji.strip() else None)]
    author: str | None = None

    @property
    def key(self) -> str:
        """The key of its score: a person has one reaction to a reply."""
        return f"reaction:{self.author or ''}"


Record = Annotated[Trace | SpanLine | ScoreLine | Correction | Reaction, Field(discriminator="type")]

REACTION_SCORE = "user_reaction"
NEUTRAL = 0.5

# The five Fitzpatrick modifiers, and the selectors VS1 to VS16.
_SKIN_TONES = {chr(code) for code in range(0x1F3FB, 0x1F400)}
_VARIATION_SELECTORS = {chr(code) for code in range(0xFE00, 0xFE10)}

VALUES = {"👍": 1.0, "❤": 1.0, "🙏": 0.9, "😂": 0.8, "😮": 0.5, "😢": 0.2, "👎": 0.0}


def reaction_value(emoji: str) -> float:
    """What a reaction is worth as a score; one that is not in the table is neither praise nor blame."""
    bare = (sign for sign in emoji.strip() if sign not in _SKIN_TONES and sign not in _VARIATION_SELECTORS)
    return VALUES.get("".join(bare), NEUTRAL)


Tag = Annotated[str, Field(min_length=1, max_length=200)]


class Retagging(BaseModel, frozen=True, extra="forbid"):
    """Tags to put on traces, and tags of people to take off."""

    trace_ids: Annotated[tuple[Ident, ...], Field(min_length=1, max_length=1000)]
    add: Annotated[tuple[Tag, ...], Field(max_length=50)] = ()
    remove: Annotated[tuple[Tag, ...], Field(max_length=50)] = ()


class Retagged(BaseModel, frozen=True, extra="forbid"):
    """What changed on one trace, or why nothing did. The reverse undoes it."""

    trace_id: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    problem: str | None = None


class TraceComment(BaseModel, frozen=True, extra="forbid"):
    """What somebody wrote on a trace."""

    id: int
    trace_id: str
    text: str
    who: str
    created_at: UtcTime
