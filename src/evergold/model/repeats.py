"""Repeats of one question among the cases of a dataset, as lists and pages show them."""

from pydantic import BaseModel


class RepeatCounts(BaseModel, frozen=True):
    """How many questions are asked by more than one case (`questions`), and by how many cases (`repeating`).

    Counted over the newest `looked_at` of `cases` active cases; a build looks at all of them.
    """

    cases: int
    looked_at: int
    questions: int
    repeating: int


class RepeatedQuestion(BaseModel, frozen=True):
    """The cases that ask one question: how many, and the ids of the first ones by id."""

    cases: int
    examples: tuple[str, ...]


class Repeats(BaseModel, frozen=True):
    """The counts of a dataset, and for each case asked for that is a repeat the question it shares with others."""

    counts: RepeatCounts
    of: dict[str, RepeatedQuestion]
