"""Questions to a judge and its answers: the same for a language model and for the offline judge."""

from typing import Any

from pydantic import BaseModel, Field

from evergold.model.run import Result, Usage


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


class JudgeAnswer(Result):
    """The judge's answer, or the reason why there is none (refused, truncated, not in the schema after one repair)."""

    data: dict[str, Any] | None = None
    reason: str | None = None
    text: str = ""
    token_logprobs: tuple[dict[str, Any], ...] = ()
    usage: Usage = Usage()
    details: dict[str, Any] = Field(default_factory=dict)


Answer = JudgeAnswer  # the earlier name, for plug-ins


class CalibrationInfo(BaseModel, frozen=True, extra="forbid"):
    """How far a judge agrees with people on a metric: Cohen's kappa with its 95 % interval."""

    metric: str
    labels: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    made_at: str
    missing: str | None = None


class JudgeInfo(BaseModel, frozen=True, extra="forbid"):
    """A judge one can name in a run."""

    name: str
    default: bool
    calibrations: tuple[CalibrationInfo, ...] = ()


class Figure(BaseModel, frozen=True):
    value: float
    low: float | None
    high: float | None
    n: int


class Calibration(BaseModel, frozen=True):
    """What was measured, of which judge, asked how. Another model, prompt or version is another judge.

    `usable` where there are labels enough to call the judge calibrated; `missing` says what is not there yet.
    """

    judge: str
    metric: str
    version: str
    prompt_hash: str | None
    passing: float
    labels: int
    unscored: dict[str, int]
    agreement: Figure | None
    kappa: Figure | None
    spearman: Figure | None
    false_pass: Figure | None
    false_fail: Figure | None
    agreed: tuple[bool | None, ...] = ()
    usable: bool = False
    missing: str | None = None


class JudgeComparison(BaseModel, frozen=True):
    """The second judge against the first, on the labels that both could judge."""

    first: Calibration
    second: Calibration
    n: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    verdict: str
    advice: str
