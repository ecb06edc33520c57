"""/review/questions and /review/answers: questions of a dataset's own, and what reviewers answer."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field

from evergold.api.opened import Opened
from evergold.api.review import Key
from evergold.api.routing import Router
from evergold.api.who import Who
from evergold.model.questions import MOST_QUESTIONS, Questionnaire, ReviewAnswer

router = Router(prefix="/api/v1", tags=["review"])

Dataset = Annotated[str, Query(min_length=1, max_length=200)]


class AnswersIn(BaseModel, extra="forbid"):
    """Question → answer; null takes an answer back."""

    answers: Annotated[dict[str, Any], Field(min_length=1, max_length=MOST_QUESTIONS)]


@router.get("/review/questions")
def get_questions(workspace: Opened, dataset: Dataset) -> Questionnaire:
    """The questions that reviewers of a dataset answer."""
    return workspace.review.questions(dataset)


@router.put("/review/questions")
def set_questions(workspace: Opened, dataset: Dataset, wanted: Questionnaire, who: Who) -> Questionnaire:
    """Replace the questions of a dataset; answers to questions that are gone stay stored and count no more."""
    return workspace.review.set_questions(dataset, wanted, who)


@router.put("/review/answers")
def answer(workspace: Opened, key: Key, given: AnswersIn, who: Who) -> list[ReviewAnswer]:
    """Store my answers on a case; returns everybody's."""
    return workspace.review.answer(key, given.answers, who)
