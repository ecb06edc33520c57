"""Progress of a review and agreement of its reviewers, as the API and the command line report them."""

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


class QuestionAgreement(TypedDict):
    """How far reviewers agree on one question of a dataset; `measure` names what takes chance away."""

    dataset: str
    question: str
    title: str
    kind: str
    answers: int
    shared: int
    agreement: AgreementFigure
    measure: str
    beyond_chance: AgreementFigure


class Agreement(TypedDict):
    """How far all reviewers agree, each pair of them, and on each question of their datasets."""

    cases: int
    shared: int
    disputed: int
    agreement: AgreementFigure
    fleiss: AgreementFigure
    pairs: list[PairAgreement]
    questions: list[QuestionAgreement]


class DatasetProgress(TypedDict):
    """How much of a dataset is reviewed."""

    dataset: str
    total: int
    validated: int
    dismissed: int


class ReviewerPace(TypedDict):
    """A reviewer's day, speed and agreement.

    `today` counts cases decided since the day began, `seconds_per_case` is the median time from one verdict to the next
    in a sitting, `agreement` the share of a colleague's first verdicts on the same content that are equal.
    """

    today: int
    seconds_per_case: float | None
    agreement: AgreementFigure


class ReviewerProgress(ReviewerPace):
    """How many verdicts of which kind a reviewer gave, when the last one was, and how they get on."""

    reviewer: str
    approve: int
    dismiss: int
    second_opinion: int
    skip: int
    last_at: str | None


class ReviewProgress(TypedDict):
    """Progress per dataset and per reviewer; `daily_goal` is how many cases a reviewer is to decide a day, 0 for none."""

    daily_goal: int
    datasets: list[DatasetProgress]
    reviewers: list[ReviewerProgress]
