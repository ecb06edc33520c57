"""A case: one unit of evaluation data, of any of the five kinds, with its reference answer and the conversation behind it.

A message of a conversation has the shape of OpenAI chat, whatever convention it arrived in: `role` (system, user, assistant,
tool, or an unknown one as it came), `content` (text, parts, or null), and where they apply `tool_calls` (`id`,
`type: function`, `function: {name, arguments}` with arguments as JSON text), `tool_call_id`, `name`. What that shape has no
key for is kept under `extra` of its message: `reasoning`, `finish_reason`, `failed` (of a tool's result), unknown keys.
"""

import shlex
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from evergold.errors import Incomplete
from evergold.model.check import strip_admission
from evergold.model.limits import UtcTime, Values
from evergold.model.report import html_of_pairs, text_of_rows
from evergold.model.tool_calls import ExpectedTool, ToolCall, expected_of
from evergold.model.values import content_hash


class Origin(StrEnum):
    """Where a reference comes from, the strongest first."""

    PERSON = "person"
    SOURCE = "source"
    REVISED = "revised"
    CONFIRMED = "confirmed"
    UNCONFIRMED = "unconfirmed"
    CANDIDATE = "candidate"


class TierEvidence(StrEnum):
    """What the tier of a case rests on, the strongest first: a person's word, a user's, an outcome that the app states, what a
    judge found in the answer, a check (of failures), silence; `source` where no policy made the case."""

    PERSON = "person"
    USER = "user"
    OUTCOME = "outcome"
    CONTENT = "content"
    CHECK = "check"
    SILENCE = "silence"
    SOURCE = "source"


class Candidates(StrEnum):
    """Whether golden cases that rest on silence alone come along. Nobody said that they are good."""

    EXCLUDE = "exclude"
    INCLUDE = "include"
    ONLY = "only"


def candidates_left_out(number: int) -> str:
    """Say that candidates were left out, and how to have them."""
    return f"{number} candidates left out: nobody said yet that they are good (--candidates include takes them along)"


def ways_to_confirm(number: int) -> str:
    """Say how candidates that wait become golden."""
    return (
        f"{number} candidates wait to be confirmed: review them (`evergold review`, or the page Review), add a judge check "
        '(checks.files, and llm_judge = "system" in the policy), or send users\' reactions; --candidates include takes them as '
        "they are"
    )


class Answer(BaseModel, frozen=True, extra="forbid"):
    """An answer that a person wrote or approved, or that corrected another one.

    `tool_calls` are the calls that belong to it, None where nothing is known of them. `trace_id` names the trace that
    gave this answer, where one did.
    """

    text: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    trace_id: str | None = None


class Reference(BaseModel, frozen=True, extra="forbid"):
    """What is right, as text and calls. `text` is None where only the calls are known, and the other way round."""

    text: str | None
    tool_calls: tuple[ToolCall, ...] | None = None
    origin: Origin


class ProgramTest(BaseModel, frozen=True, extra="forbid"):
    """What a program is given and what it must print; white space at the end of a line or of all counts for nothing."""

    stdin: str = ""
    stdout: str


class CodeTests(BaseModel, frozen=True, extra="forbid"):
    """Tests of the code of an answer, of one of three kinds; all of them together have `timeout` seconds.

    `code`: Python texts, each of which passes if it runs to its end without an exception. An answer in Python is run apart, and
    the tests use its names; code of another `language` is not run, the tests find it as the text `answer`. `programs`: the answer
    is a program, and each is an input with the output that it must print. `command`: it passes if it ends with 0 in a folder
    with `files` (name → text) and the answer, in `answer_file` or else in `answer.py` (`.js` and so on).

    Written as a text (one test) or a list of texts, it is `code` in Python; as `{stdin, stdout}` or a list of them, `programs`.
    """

    language: Annotated[str, Field(min_length=1, max_length=40)] = "python"
    code: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(max_length=100)] = ()
    programs: Annotated[tuple[ProgramTest, ...], Field(max_length=100)] = ()
    command: Annotated[tuple[Annotated[str, Field(min_length=1)], ...], Field(max_length=100)] = ()
    files: Annotated[dict[str, str], Field(max_length=100)] = Field(default_factory=dict)
    answer_file: str = ""
    timeout: Annotated[float, Field(gt=0, le=600)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_short_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"code": [value]}
        if isinstance(value, list | tuple):
            return {"programs" if value and isinstance(value[0], dict) else "code": list(value)}
        if not isinstance(value, dict):
            return value
        if "stdout" in value:
            program = {name: value[name] for name in ("stdin", "stdout") if name in value}
            value = {name: one for name, one in value.items() if name not in program} | {"programs": [program]}
        # Without this a single text would be taken apart into its characters.
        if isinstance(value.get("code"), str):
            value = {**value, "code": [value["code"]]}
        if isinstance(value.get("command"), str):
            value = {**value, "command": shlex.split(value["command"])}
        return value

    @model_validator(mode="after")
    def _check_kind(self) -> Self:
        if sum(map(bool, (self.code, self.programs, self.command))) != 1:
            raise ValueError("tests have one of: code, stdin and stdout (programs), command and files")
        if self.programs and self.runs_as not in PROGRAM_ENDINGS:
            raise ValueError(f"programs in {self.language!r} cannot be run; allowed: {', '.join(PROGRAM_ENDINGS)}")
        for name in (*self.files, self.answer_path):
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts or not path.name:
                raise ValueError(
                    f"file {name!r}: a name is relative and stays in the folder, such as tests/test_sum.py"
                )
        if self.answer_path in self.files:
            raise ValueError(f"file {self.answer_path!r} holds the answer; name another one in answer_file")
        return self

    def __len__(self) -> int:
        return len(self.code) or len(self.programs) or 1

    @property
    def runs_as(self) -> str:
        """The language by its usual name."""
        return SAME_LANGUAGE.get(self.language.lower(), self.language.lower())

    @property
    def runs_answer(self) -> bool:
        return self.runs_as == "python"

    @property
    def answer_path(self) -> str:
        """The file of the answer in the folder of a command."""
        return self.answer_file or f"answer{PROGRAM_ENDINGS.get(self.runs_as, '')}"

    @property
    def answer_module(self) -> str:
        return PurePosixPath(self.answer_path).with_suffix("").as_posix().replace("/", ".")


Assertion = Annotated[
    dict[Literal["must", "must_not"], Annotated[str, Field(min_length=1, max_length=500, pattern=r"\S")]],
    Field(min_length=1, max_length=1),
]
"""What an answer must or must not do, as the end of a sentence about it: `{"must": "names the deadline"}`."""


PROGRAM_ENDINGS = {"python": ".py", "bash": ".sh", "javascript": ".js", "perl": ".pl", "ruby": ".rb"}
"""Languages that an answer can be run in, and how its file ends."""
SAME_LANGUAGE = {"py": "python", "python3": "python", "js": "javascript", "ts": "typescript", "sh": "bash"}

CaseId = Annotated[str, Field(min_length=1, max_length=1024)]
"""Longer than a trace's id may be, because a curated case is named after its policy and its trace."""


class CaseKind(StrEnum):
    CHAT = "chat"
    CONTEXT = "context"
    QA = "qa"
    SUMMARY = "summary"
    TASK = "task"


class EntryType(StrEnum):
    GOLDEN = "golden"
    FAILURE = "failure"
    CORRECTION = "correction"


class CaseStatus(StrEnum):
    """Whether a case takes part: withdrawn by its policy, dismissed by a person, erased on request."""

    ACTIVE = "active"
    WITHDRAWN = "withdrawn"
    DISMISSED = "dismissed"
    ERASED = "erased"


class ReviewState(StrEnum):
    UNVALIDATED = "unvalidated"
    VALIDATED = "validated"


class Difficulty(StrEnum):
    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class Context(BaseModel, frozen=True, extra="forbid"):
    """One retrieved passage with where it came from; a passage that was lost keeps its place as None."""

    text: str | None
    source: str | None = None
    retrieved: Values | None = None
    score: float | None = None


class RankedPath(BaseModel, frozen=True, extra="forbid"):
    """A file that the work needed; the order of paths in a case is their rank."""

    path: str
    sources: tuple[str, ...] = ()
    extra: Values = Field(default_factory=dict)


class LineRange(BaseModel, frozen=True, extra="forbid"):
    """Lines of a file at the base commit, first and last included, counted from 1.

    `blob` and `text_hash` prove the range: they name the file's content at base and the text of these lines.
    """

    path: str
    start: Annotated[int, Field(ge=1)]
    end: Annotated[int, Field(ge=1)]
    sources: tuple[str, ...] = ()
    blob: str | None = None
    text_hash: str | None = None
    extra: Values = Field(default_factory=dict)

    @model_validator(mode="after")
    def ends_after_start(self) -> Self:
        if self.end < self.start:
            raise ValueError(f"{self.path}: endLine {self.end} is before startLine {self.start}")
        return self


class Provenance(BaseModel, frozen=True, extra="forbid"):
    """Where a case comes from: enough to find its trace, flow or document again, and to redo its curation."""

    source: str = "manual"
    trace_id: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    policy: str | None = None
    policy_rev: str | None = None
    inclusion_probability: float | None = None
    document: str | None = None
    repository: str | None = None
    workspace_id: str | None = None
    task_id: str | None = None
    flow_id: str | None = None
    case_index: int | None = None


REQUIRED: dict[CaseKind, tuple[str, ...]] = {
    CaseKind.CHAT: ("input",),
    CaseKind.CONTEXT: ("input", "base_commit", "paths"),
    CaseKind.QA: ("input", "expected"),
    CaseKind.SUMMARY: ("input", "expected"),
    CaseKind.TASK: ("name", "input", "expected"),
}

# Fields that say who looked at a case and when, not what it says: they are outside `rev`.
BOOKKEEPING = frozenset({"evidence", "review", "status", "version", "created_at", "updated_at"})


class Case(BaseModel, frozen=True, extra="forbid"):
    """`(dataset, id)` names a case for ever; `rev()` names what it says now; `version` counts its revisions.

    `messages` is the conversation that was to be answered, up to its last user message; `turn` is what the assistant then
    did, in the same shape, and `tool_calls` the calls of that turn. `input` and `output` are the texts of both for people.
    `expected` is the reference of the source (for a correction the words that corrected), `approved` what a person wrote
    or approved, `revised` the corrected answer of a correction: `reference()` chooses. `expected_tools` is None where
    nothing is known, empty where no call is expected; they are expected in this order unless `ordered` is false.
    `tests` is what the code of an answer must pass, `assertions` what an answer must and must not do.
    `metrics` are the ones it is measured by; any where it names none.
    `metadata` belongs to users and sources, `extra` keeps unknown keys of an imported row so that they survive a
    round trip, and everything else means the same for every kind that uses it.
    """

    id: CaseId
    dataset: Annotated[str, Field(min_length=1, max_length=200)] = "live"
    kind: CaseKind = CaseKind.CHAT
    entry_type: EntryType = EntryType.GOLDEN
    name: str | None = None
    input: str
    output: str | None = None
    expected: str | None = None
    prompt: str | None = None
    difficulty: Difficulty | None = None
    contexts: tuple[Context, ...] = ()
    messages: tuple[Values, ...] = ()
    turn: tuple[Values, ...] = ()
    tools: tuple[Values, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    expected_tools: tuple[ExpectedTool, ...] | None = None
    ordered: bool = True
    tests: CodeTests | None = None
    assertions: Annotated[tuple[Assertion, ...], Field(max_length=50)] = ()
    metrics: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    approved: Answer | None = None
    revised: Answer | None = None
    paths: tuple[RankedPath, ...] = ()
    ranges: tuple[LineRange, ...] = ()
    base_commit: str | None = None
    citations: tuple[Values, ...] = ()
    answer_citations: tuple[Values, ...] | None = None
    tags: tuple[str, ...] = ()
    metadata: Values = Field(default_factory=dict)
    extra: Values = Field(default_factory=dict)
    provenance: Provenance = Provenance()
    evidence: TierEvidence = TierEvidence.SOURCE
    review: ReviewState = ReviewState.UNVALIDATED
    status: CaseStatus = CaseStatus.ACTIVE
    version: int = 1
    created_at: UtcTime | None = None
    updated_at: UtcTime | None = None

    @property
    def confirmed(self) -> bool:
        """A golden case that a person or a user stood behind."""
        return bool(self.metadata.get("confirmed"))

    @property
    def tier(self) -> str:
        """`confirmed`, `unconfirmed` or `candidate` of a golden case, which rests on nobody's objection; else its entry type."""
        if self.entry_type is not EntryType.GOLDEN:
            return self.entry_type.value
        if self.confirmed or self.evidence in (TierEvidence.PERSON, TierEvidence.USER):
            return "confirmed"
        return "candidate" if self.evidence is TierEvidence.SILENCE else "unconfirmed"

    @property
    def stands_on(self) -> TierEvidence:
        """What the right answer rests on: a person who wrote or approved it, else what the case does."""
        by_person = self.approved is not None or self.review is ReviewState.VALIDATED
        return TierEvidence.PERSON if by_person else self.evidence

    def preview(self, most: int) -> "Case":
        """The case as a list shows it: texts cut to so many characters, without conversation, tools and contexts."""
        texts = {name: text[:most] for name in ("input", "output", "expected") if (text := getattr(self, name))}
        answers = {
            name: answer.model_copy(update={"text": (answer.text or "")[:most]})
            for name in ("approved", "revised")
            if (answer := getattr(self, name)) is not None
        }
        left_out: dict[str, Any] = dict.fromkeys(("messages", "turn", "tools", "contexts", "tool_calls"), ())
        return self.model_copy(update={**texts, **answers, **left_out, "extra": {}})

    def reference(self) -> Reference | None:
        """The one answer this case is measured by: a person's, the source's, the corrected one, or a golden output."""
        # An approved answer wins over everything; where it says nothing of calls, those of the golden turn still hold.
        if self.approved is not None:
            calls = self.approved.tool_calls
            return self._reference(self.approved.text, Origin.PERSON, self._golden_calls() if calls is None else calls)
        if self.entry_type is EntryType.CORRECTION:
            # The `expected` of a correction holds the words that corrected, which is no answer: only `revised` is one.
            revised = self.revised
            if revised is None:
                return None
            # Rows of earlier versions hold the reply to the remark with its admission.
            text = strip_admission(revised.text) if revised.trace_id else revised.text
            return self._reference(text, Origin.REVISED, revised.tool_calls)
        # `expected_tools` of () means "no call expected", which alone is no reference to measure an answer by.
        if not is_blank(self.expected) or self.expected_tools:
            return self._reference(self.expected, Origin.SOURCE, self._golden_calls() if self.turn else None)
        if self.entry_type is EntryType.GOLDEN:
            stood_behind = self.confirmed or self.review is ReviewState.VALIDATED
            stated = (
                Origin.UNCONFIRMED
                if self.evidence in (TierEvidence.OUTCOME, TierEvidence.CONTENT)
                else Origin.CANDIDATE
            )
            origin = Origin.CONFIRMED if stood_behind else stated
            return self._reference(self.output, origin, self._golden_calls())
        return None

    def reference_text(self) -> str | None:
        """The text of the reference; None where the case has none, or one of calls alone."""
        reference = self.reference()
        return None if reference is None else reference.text

    def shown_answers(self) -> dict[str, str | None]:
        """The right answer as people read it in files and lists, where it comes from, and the words that corrected.

        The column `expected_output` of a correction keeps those words; everywhere else it is the reference.
        """
        reference = self.reference()
        corrects = self.entry_type is EntryType.CORRECTION
        text = reference.text if reference else None
        return {
            "expected_output": text if corrects else self.expected,
            "correction_text": self.expected if corrects else None,
            "reference": text,
            "reference_from": reference.origin.value if reference else None,
        }

    def expected_calls(self) -> tuple[ExpectedTool, ...] | None:
        """The calls a right answer makes: as stated, else those of the reference; None where nothing is known."""
        if self.expected_tools is not None:
            return self.expected_tools
        reference = self.reference()
        return None if reference is None or reference.tool_calls is None else expected_of(reference.tool_calls)

    def _reference(self, text: str | None, origin: Origin, calls: tuple[ToolCall, ...] | None) -> Reference | None:
        if self.expected_tools is not None:
            examples = [wanted.example() for wanted in self.expected_tools]
            # One call that is known only by a pattern has no example, so the calls as a whole cannot be shown.
            calls = None if None in examples else tuple(call for call in examples if call is not None)
        if is_blank(text) and not calls:
            return None
        return Reference(text=None if is_blank(text) else text, tool_calls=calls, origin=origin)

    def _golden_calls(self) -> tuple[ToolCall, ...] | None:
        """The calls of a golden turn; a turn that made none was right to make none only where tools were offered."""
        known = self.tool_calls or (self.turn and self.tools)
        return self.tool_calls if known and self.entry_type is EntryType.GOLDEN else None

    def __str__(self) -> str:
        return text_of_rows(*self._pairs())

    def _repr_html_(self) -> str:
        title, _, pairs = self._pairs()
        return html_of_pairs(title, pairs)

    def _pairs(self) -> tuple[str, tuple[str, str], list[tuple[str, object]]]:
        reference = self.reference()
        pairs: list[tuple[str, object]] = [
            ("question", self.input),
            ("recorded answer", self.output),
            ("reference", reference and reference.text),
            ("reference from", reference and reference.origin.value),
            ("contexts", [context.text for context in self.contexts if context.text]),
            ("tools called", [call.name for call in self.tool_calls]),
            (
                "assertions",
                [f"{word.replace('_', ' ')} {text}" for one in self.assertions for word, text in one.items()],
            ),
            ("tags", self.tags),
            ("trace", self.provenance.trace_id),
        ]
        title = f"{self.dataset}/{self.id}: {self.entry_type.value} {self.kind.value}, {self.review.value}"
        return title, ("", ""), [(name, value) for name, value in pairs if value]

    def content(self) -> dict[str, Any]:
        """What the case says, without who reviewed it and when it changed."""
        return self.model_dump(mode="json", exclude=set(BOOKKEEPING))

    def rev(self) -> str:
        """Identity of the content; review state is left out, so a verdict makes no new identity."""
        return content_hash(self.identity())

    def identity(self) -> dict[str, Any]:
        """What `rev` is the hash of: the content, without fields that came later and that this case does not use."""
        return _as_before(self.content())

    def list_missing(self) -> tuple[str, ...]:
        """The fields this kind of case still needs before anybody can call it true."""
        lacking = [name for name in REQUIRED[self.kind] if is_blank(getattr(self, name))]
        acted = self.tool_calls or not is_blank(self.output)  # a turn may end with calls and say nothing
        if self.kind is CaseKind.CHAT and is_blank(self.expected) and not acted:
            lacking.append("expected")
        return tuple(lacking)

    def as_validated(self) -> Self:
        lacking = self.list_missing()
        if lacking:
            raise Incomplete(f"case {self.id!r} lacks {', '.join(lacking)}; fill them before validating")
        return self.model_copy(update={"review": ReviewState.VALIDATED})


# Fields with their defaults that were added after revs had been stored; `_as_before` leaves them out at these values.
LATER: dict[str, Any] = {
    "turn": [],
    "ordered": True,
    "tests": None,
    "assertions": [],
    "metrics": [],
    "approved": None,
    "revised": None,
}
LATER_OF_CALL: dict[str, Any] = {"id": None, "result": None, "failed": False}
LATER_OF_TESTS: dict[str, Any] = {"programs": [], "command": [], "files": {}, "answer_file": "", "timeout": None}


def _as_before(content: dict[str, Any]) -> dict[str, Any]:
    """Leave out fields that came after the first revs were written, while a case does not use them: its rev stays.

    A case without `expected_tools` used to have an empty list of them, so an explicit empty one is written another way.
    """
    kept = _drop_defaults(content, LATER)
    kept["contexts"] = [_drop_defaults(context, {"score": None}) for context in content["contexts"]]
    if content["tests"]:
        kept["tests"] = _drop_defaults(content["tests"], LATER_OF_TESTS)
    kept["tool_calls"] = [_drop_defaults(call, LATER_OF_CALL) for call in content["tool_calls"]]
    expected = content["expected_tools"]
    kept["expected_tools"] = [_drop_defaults(call, {"optional": [], "match": {}}) for call in expected or ()]
    return kept if expected != [] else kept | {"no_calls_expected": True}


def _drop_defaults(values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in defaults or value != defaults[name]}


def written_case(record: Any) -> Case:
    """Read a case that was written whole to a file, also by a version that wrote `[]` for "nothing expected is known"."""
    # `turn` came in the same version in which `[]` began to mean "no call is expected", so its absence dates the file.
    if isinstance(record, Mapping) and "turn" not in record and record.get("expected_tools") == []:
        record = {name: value for name, value in record.items() if name != "expected_tools"}
    return Case.model_validate(record)


def is_blank(value: object) -> bool:
    return not value.strip() if isinstance(value, str) else not value


class Conversation(BaseModel, frozen=True, extra="forbid"):
    """Everything a trace says about one exchange with a model.

    `messages` ends with the last user message; `turn` is what the assistant did after it: calls, results, texts, the
    answer last; `after` is what follows the turn where the messages go on (a closing thanks that nobody answered).
    `parameters` has the model and what it was called with, prompt name and version. `problems` names what keeps the
    conversation from being replayed (a text that was cut, a lost result).
    """

    messages: tuple[Values, ...] = ()
    turn: tuple[Values, ...] = ()
    after: tuple[Values, ...] = ()
    tools: tuple[Values, ...] = ()
    contexts: tuple[Context, ...] = ()
    parameters: Values = Field(default_factory=dict)
    problems: tuple[str, ...] = ()


def plain_messages(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages as other programs read them: without `extra`, which is ours."""
    return [{key: value for key, value in message.items() if key != "extra"} for message in messages]
