"""Agreement of a policy with people: shares with their intervals, by rule and by check."""

from pydantic import BaseModel


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
