"""A curation policy: which traces become which dataset entries; its agreement with people; the rules as the browser shows them.

Pure values, so that a verdict computed trace by trace in Python and one computed over a million traces in SQL use the same
numbers and the same sentences. The revision of a policy is the hash of everything that can change a verdict: two files with the
same content are the same revision, a changed threshold is a new one, and what a revision did can be undone by its name.
"""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from typing import Literal

from pydantic import BaseModel, Field, computed_field, field_validator, model_validator

from evergold.model.case import TierEvidence
from evergold.model.check import ShownRemark
from evergold.model.limits import UtcTime
from evergold.model.trace import Gap, Score, ScoreSource
from evergold.model.values import content_hash, unit_interval

TAG_KINDS = ("message_type", "model", "tool", "failed_check")
REQUIRED_CHECKS = ("answered", "finished")
# Named one by one, so that Python (`curate/classify.py`) and SQL (`store/verdict/tiers.py`) trim the same.
SUPPORTED_FROM = 0.5  # a judge's check (`grounded`) below it keeps a trace from golden that nothing else speaks for
BLANKS = " \t\r\n\v\f\u00a0"

# A text that ends in `*` stands for every reply that begins so.
FALLBACK_TEXTS = (
    "I'm sorry, I can't help with that.",
    "Something went wrong. Please try again*",
    "Sorry, something went wrong*",
    "Sorry, I couldn't process your message*",
    "Lo siento, algo salió mal*",
    "Lo siento, ha ocurrido un error*",
    "Lo siento, no pude procesar tu mensaje*",
)


class Tier(StrEnum):
    """What a policy makes of a trace. `NONE` means the trace has no place in the dataset."""

    NONE = "none"
    FAILURE = "failure"
    CANDIDATE = "candidate"
    UNCONFIRMED = "unconfirmed"
    CONFIRMED = "confirmed"

    @property
    def entry_type(self) -> str | None:
        return None if self is Tier.NONE else "failure" if self is Tier.FAILURE else "golden"


class JudgeRole(StrEnum):
    """What a score of source `llm_judge` counts as."""

    IGNORED = "ignored"
    SYSTEM = "system"


class Reason(StrEnum):
    """Why a trace has its tier. The value is the sentence, with the policy's thresholds filled in by `Policy.explain`."""

    FAILED_CHECK = "a system score is below {low:g}"
    USER_NEGATIVE = "a user or human score is below {low:g}"
    CORRECTED = "a person corrected the reply"
    CONFIRMED = "every system score is at least {high:g} and a user or human score is too"
    OUTCOME = "every system score is at least {high:g}; no user or human has scored it yet"
    CONTENT = "every check passed and a judge found the answer good; nobody has scored it yet"
    INCOMPLETE = "the trace is incomplete, so nothing is concluded from checks"
    NO_SCORES = "no score that takes part"
    NO_SYSTEM = "no system score, and no user or human score below {low:g}"
    SYSTEM_BETWEEN = "a system score lies between {low:g} and {high:g}"
    USER_BETWEEN = "user or human scores lie only between {low:g} and {high:g}"
    OBJECTED = "a later message may speak against the answer, on too weak a ground for a failure"
    TRACE_FAILED = "the trace failed, so it is never golden"
    NO_OUTPUT = "the trace has no output, so it is never golden"
    FALLBACK = "the reply is a known fallback text, so it is never golden"
    UNCHECKED = "a check that the policy asks for has not spoken yet"
    CHECKED = "every check passed and nobody objected: a candidate, until somebody or an outcome says that it is good"
    DOUBTED = "a judge found too little of the answer supported, and nobody said that it is good"
    REMARK = "the message is a remark on an earlier answer: its reply is no case unless somebody or an outcome says it is good"
    OVER_LIMIT = (
        "every check passed, but its day has others as candidates: one trace of each question, and at most "
        "limit.candidates_per_day = {most} of the policy"
    )
    INELIGIBLE = "the trace is not eligible under the policy"
    NOT_SAMPLED = "the trace is outside the sample of the policy"


BETWEEN = (Reason.SYSTEM_BETWEEN, Reason.USER_BETWEEN, Reason.OBJECTED)
"""Reasons to keep a trace out that are neither good nor bad."""


class Thresholds(BaseModel, frozen=True, extra="forbid"):
    """Below `failure_below` is a failure; from `golden_from` upwards is good; between them is neither."""

    failure_below: float = Field(0.3, gt=0.0, le=1.0)
    golden_from: float = Field(0.8, gt=0.0, le=1.0)

    @model_validator(mode="after")
    def require_order(self) -> Thresholds:
        if self.failure_below > self.golden_from:
            raise ValueError(
                f"failure_below {self.failure_below:g} is above golden_from {self.golden_from:g}; it must not be"
            )
        return self


class Eligibility(BaseModel, frozen=True, extra="forbid"):
    """Every condition given must hold. A list means "one of these"; an empty list means no condition.

    `apps` are written `service/name`.
    `metadata` asks for equal text values of top-level keys of the trace's metadata (`model`, `message_type`, …).
    """

    names: tuple[str, ...] = ()
    apps: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    exclude_users: tuple[str, ...] = ()
    metadata: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    min_input_chars: int = Field(0, ge=0)

    @field_validator("metadata", mode="before")
    @classmethod
    def one_or_many(cls, value: object) -> object:
        """`model = "m"` is short for `model = ["m"]`."""
        if isinstance(value, dict):
            return {key: (item,) if isinstance(item, str) else item for key, item in value.items()}
        return value


class Sampling(BaseModel, frozen=True, extra="forbid"):
    """The share of each tier that is kept, decided by a hash of the trace id, so that a retry decides the same."""

    failure: float = Field(1.0, ge=0.0, le=1.0)
    candidate: float = Field(1.0, ge=0.0, le=1.0)
    unconfirmed: float = Field(1.0, ge=0.0, le=1.0)
    confirmed: float = Field(1.0, ge=0.0, le=1.0)

    def rate(self, tier: Tier) -> float:
        return 0.0 if tier is Tier.NONE else float(getattr(self, tier.value))


class Limit(BaseModel, frozen=True, extra="forbid"):
    """How many candidates one day (UTC) may have. What scores of the app, of judges or of people make is not limited."""

    candidates_per_day: int = Field(200, ge=0)


class Policy(BaseModel, frozen=True, extra="forbid"):
    """Which traces become which entries of which dataset.

    `outcome` names the scores of the app that say how it went; none: all of them. Golden needs an outcome or somebody's word.
    """

    name: str = Field("default", pattern=r"^[a-z0-9][a-z0-9_.-]{0,62}$")
    dataset: str = Field("live", min_length=1, max_length=200)
    thresholds: Thresholds = Thresholds()
    ignore: tuple[str, ...] = ()
    outcome: tuple[str, ...] = ()
    llm_judge: JudgeRole = JudgeRole.IGNORED
    eligible: Eligibility = Eligibility()
    sample: Sampling = Sampling()
    checks: tuple[str, ...] = REQUIRED_CHECKS
    limit: Limit = Limit()
    tags: tuple[str, ...] = TAG_KINDS
    fallback_texts: tuple[str, ...] = FALLBACK_TEXTS

    @field_validator("ignore", "outcome", "tags", "fallback_texts", "checks", mode="after")
    @classmethod
    def without_order(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        """Order and repetition mean nothing here, so they must not make another revision."""
        return tuple(sorted({item.strip() for item in value if item.strip()}))

    # Hashed for each batch that is curated; the policy is frozen, so it never changes.
    @cached_property
    def rev(self) -> str:
        """Identity of everything that can change a verdict."""
        return content_hash(self.model_dump(mode="json"))

    # pydantic's own hash fails on the dict in `eligible`.
    def __hash__(self) -> int:
        return hash(self.rev)

    @property
    def label(self) -> str:
        """`name@` and the first twelve digits of the revision: what people type and read."""
        return f"{self.name}@{self.rev.removeprefix('sha256:')[:12]}"

    def explain(self, reason: Reason) -> str:
        low, high = self.thresholds.failure_below, self.thresholds.golden_from
        return reason.value.format(low=low, high=high, most=self.limit.candidates_per_day)

    def keeps(self, trace_id: str, tier: Tier) -> bool:
        """Whether the sample of this tier holds the trace."""
        # The name of the policy is part of the key: two policies with the same rate keep different traces.
        return unit_interval(f"{self.name}:{trace_id}") < self.sample.rate(tier)


class Proportion(BaseModel, frozen=True):
    """`hits` of `of`, as a share with its Wilson interval (95 %); null where there is nothing to divide by."""

    hits: int
    of: int
    value: float | None = None
    low: float | None = None
    high: float | None = None


class ClassTrial(BaseModel, frozen=True):
    """Of one class: what the policy called so and people do too, and what people call so and the policy does too."""

    precision: Proportion
    recall: Proportion


class TrialDifference(BaseModel, frozen=True):
    """A trace on which the policy and a person differ, with the policy's reason."""

    trace_id: str
    label: str
    verdict: str
    reason: str


class PolicyTrial(BaseModel, frozen=True):
    """A policy against people's labels. The daily limit of candidates is left out: it chooses, it does not judge."""

    policy: str
    labelled: int
    missing: int
    missing_examples: tuple[str, ...]
    golden: ClassTrial
    failure: ClassTrial
    agreement: Proportion
    differences: tuple[TrialDifference, ...]


class RuleAgreement(BaseModel, frozen=True):
    """How often people left what one rule, or one check, decided as it was."""

    name: str
    verdict: str
    agreed: Proportion


class ReviewAgreement(BaseModel, frozen=True):
    """What reviewers made of what policies decided. Only cases are reviewed, so this says nothing of traces kept out."""

    reviewed: int
    disagreed: int
    golden: Proportion
    failure: Proportion
    rules: list[RuleAgreement]
    checks: list[RuleAgreement]


POLICY = "default"


class CurationRules(BaseModel, frozen=True, extra="forbid"):
    """The policy `default`, whether the built-in checks run, and which of them do not."""

    policy: Policy = Policy()
    checks_on: bool = True
    checks_off: tuple[str, ...] = ()

    @field_validator("policy", mode="after")
    @classmethod
    def named_default(cls, value: Policy) -> Policy:
        if value.name != POLICY:
            raise ValueError(f"these rules are those of the policy {POLICY!r}; {value.name!r} needs a file of its own")
        return value

    @field_validator("checks_off", mode="after")
    @classmethod
    def without_order(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(sorted(set(value)))


class NewRules(BaseModel, frozen=True, extra="forbid"):
    """Rules to be saved. `base` is the number of the change they were made from; another one since is a conflict."""

    rules: CurationRules
    base: int = Field(0, ge=0)
    why: str = Field("", max_length=500)


class RulesChange(BaseModel, frozen=True):
    """One change of the rules: who made it, when and why. `number` counts up; 0 is what the workspace began with."""

    number: int
    rules: CurationRules
    who: str = ""
    why: str = ""
    created_at: UtcTime | None = None


class CheckSwitch(BaseModel, frozen=True):
    """A built-in check: what it gives, whether it is on, and the setting that holds it off, if one does."""

    name: str
    does: str
    on: bool
    held_off_by: str = ""


class RulesView(BaseModel, frozen=True):
    """The rules in force. `policy_set_by` and `checks_set_by` name the file or setting that holds a part of them."""

    number: int
    rules: CurationRules
    policy_set_by: str = ""
    checks_set_by: str = ""
    checks: tuple[CheckSwitch, ...]
    history: tuple[RulesChange, ...]
    waiting: int


class ReasonChange(BaseModel, frozen=True):
    """How many traces a reason keeps out now, and how many it would."""

    reason: str
    now: int
    then: int


class RulesPreview(BaseModel, frozen=True):
    """What other rules would make of the newest traces. Nothing is changed."""

    traces: int
    golden_now: int
    golden_then: int
    candidate_now: int
    candidate_then: int
    failure_now: int
    failure_then: int
    reasons: tuple[ReasonChange, ...]


class Remedy(StrEnum):
    """What changes a reason: a part of the rules, a look at the traces, or checking the traces that no check has seen."""

    CHECKS = "checks"
    THRESHOLDS = "thresholds"
    LIMIT = "limit"
    FALLBACK_TEXTS = "fallback_texts"
    ELIGIBLE = "eligible"
    FAILED_TRACES = "failed_traces"
    TRACES = "traces"
    INCOMPLETE = "incomplete"
    CHECK_NOW = "check_now"


class KeptOutReason(BaseModel):
    """One reason: how many traces it keeps out, by which scores where that is known, and what to change."""

    reason: str
    code: str
    traces: int
    scores: dict[str, int] = {}
    change: str
    remedy: Remedy


class KeptOut(BaseModel):
    """The newest traces of a period (`most` at most): golden, failures, waiting, and the rest by reason."""

    policy: str
    traces: int
    most: int
    golden: int
    candidate: int = 0
    failure: int
    reasons: list[KeptOutReason]


class ScoreChange(BaseModel, frozen=True, extra="forbid"):
    """A change that can be made: add a score with this name, value and source, or withdraw the one with this id."""

    action: Literal["add", "withdraw"]
    score_id: int | None = None
    name: str
    value: float
    source: ScoreSource


class Counterfactual(BaseModel, frozen=True, extra="ignore"):
    """What the trace would be after a change, by the rule that curation follows.

    Unknown fields are ignored because `when` is written to JSON and comes back with an answer of the server.
    """

    change: ScoreChange
    result: Tier

    @computed_field  # type: ignore[prop-decorator]
    @property
    def when(self) -> str:
        """The change in words, after "if"."""
        change = self.change
        if change.action == "withdraw":
            return f"{change.name} = {change.value:g} ({change.source.value}) were taken back"
        return f"a {change.source.value} score of {change.value:g} came"


class Lack(BaseModel, frozen=True, extra="forbid"):
    """Something that a trace lacks to be evaluated, and what to change where it is sent from."""

    gap: Gap
    change: str


class Explanation(BaseModel, frozen=True, extra="forbid"):
    """One policy's verdict on one trace, with its grounds. `incomplete` is what the trace lacks to be evaluated at all."""

    trace_id: str
    policy: str
    tier: Tier
    evidence: TierEvidence | None = None
    reason: str
    deciding: tuple[Score, ...]
    left_out: tuple[Score, ...]
    counterfactuals: tuple[Counterfactual, ...] = ()
    remarks: tuple[ShownRemark, ...] = ()
    incomplete: tuple[Lack, ...] = ()
    exporter: str = ""
