"""How far a review is, and how far its reviewers agree: what the API and the command line answer."""

from typing_extensions import TypedDict


class AgreementFigure(TypedDict):
    """A value with its interval, or the reason why there is none."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None


class PairAgreement(TypedDict):
    """Cohen's kappa of two reviewers."""

    reviewers: list[str]
    cohen: AgreementFigure


class Agreement(TypedDict):
    """How far all reviewers agree, and each pair of them."""

    cases: int
    shared: int
    disputed: int
    agreement: AgreementFigure
    fleiss: AgreementFigure
    pairs: list[PairAgreement]


class DatasetProgress(TypedDict):
    """How much of a dataset is reviewed."""

    dataset: str
    total: int
    validated: int
    dismissed: int


class ReviewerProgress(TypedDict):
    """How many verdicts of which kind a reviewer gave, and when the last one was."""

    reviewer: str
    approve: int
    dismiss: int
    second_opinion: int
    skip: int
    last_at: str | None


class ReviewProgress(TypedDict):
    """Progress per dataset and per reviewer."""

    datasets: list[DatasetProgress]
    reviewers: list[ReviewerProgress]
