"""Questions to a judge and its answers: the same for a language model and for the offline judge."""

from typing import Any

from pydantic import BaseModel, Field

from evergold.model.run import Usage


class Question(BaseModel, frozen=True, extra="forbid"):
    """One question to a judge.

    `task` names it (`correctness`, `claims`, `claim_verdicts`, …) and `inputs` holds its data, which is what a judge
    without a model works from; `prompt` and `schema` are the same question in words, for a judge that is one.
    """

    task: str
    inputs: dict[str, Any]
    prompt: str
    answer_schema: dict[str, Any]
    wants_logprobs: bool = False


class Answer(BaseModel, frozen=True, extra="forbid"):
    """The judge's answer, or the reason why there is none (refused, truncated, not in the schema after one repair)."""

    data: dict[str, Any] | None = None
    reason: str | None = None
    text: str = ""
    token_logprobs: tuple[dict[str, Any], ...] = ()
    usage: Usage = Usage()
    details: dict[str, Any] = Field(default_factory=dict)


class CalibrationInfo(BaseModel, frozen=True, extra="forbid"):
    """How far a judge agrees with people on a metric: Cohen's kappa with its 95 % interval."""

    metric: str
    labels: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    made_at: str


class JudgeInfo(BaseModel, frozen=True, extra="forbid"):
    """A judge one can name in a run."""

    name: str
    default: bool
    calibrations: tuple[CalibrationInfo, ...] = ()
