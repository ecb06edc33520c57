"""Questions of a dataset: read them from a TOML or YAML file, store answers, and require those that are mandatory."""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection

from evergold.errors import BadInput, Incomplete, NotFound, describe_unknown
from evergold.formats.yaml_documents import Unreadable, read
from evergold.model.case import Case
from evergold.model.faults import refused_settings
from evergold.model.review import CaseKey, Questionnaire, ReviewAnswer
from evergold.review.decide import check_reviewable, judged_rev
from evergold.store.case.cases import get_case
from evergold.store.case.questions import answers_on, put_answers, questionnaire_of

EXPORTED = "review_answers"
"""The key of a case's metadata under which answers are exported; an import leaves it out again."""


def answer(connection: Connection, key: CaseKey, given: Mapping[str, Any], reviewer: str) -> list[ReviewAnswer]:
    """Store a reviewer's answers to questions of the case's dataset; None takes one back. Returns all on the case."""
    case = get_case(connection, key.dataset, key.id)
    check_reviewable(case)
    asked = {question.name: question for question in questionnaire_of(connection, key.dataset).questions}
    for name, value in given.items():
        if name not in asked:
            raise BadInput(describe_unknown("question", name, sorted(asked)))
        # A marked passage is checked against the text it was marked in.
        if value is not None:
            asked[name].check_answer(value, getattr(case, asked[name].on))
    # Answers are bound to the content they were given on, like verdicts.
    rev = judged_rev(case)
    put_answers(
        connection,
        key,
        [ReviewAnswer(question=name, reviewer=reviewer, value=value, rev=rev) for name, value in given.items()],
    )
    return answers_on(connection, key)


def check_answered(connection: Connection, case: Case, reviewer: str) -> None:
    """Raise `Incomplete` where a reviewer has not answered a question that must be before a case is approved."""
    required = [question for question in questionnaire_of(connection, case.dataset).questions if question.required]
    if required:
        given = answers_on(connection, CaseKey(dataset=case.dataset, id=case.id))
        mine = {answer.question for answer in given if answer.reviewer == reviewer}
        lacking = [question.title for question in required if question.name not in mine]
        if lacking:
            titles = ", ".join(lacking)
            raise Incomplete(f"case {case.id!r} waits for your answer to: {titles}; answer before you approve")


def with_answers(case: Case, answers: Sequence[ReviewAnswer]) -> Case:
    """The case as it is exported: question → reviewer → answer in its metadata."""
    if not answers:
        return case
    table: dict[str, dict[str, Any]] = {}
    for given in answers:
        table.setdefault(given.question, {})[given.reviewer] = given.value
    return case.model_copy(update={"metadata": {**case.metadata, EXPORTED: table}})


def without_answers(case: Case) -> Case:
    """The case as it is stored: the answers that an export wrote into its metadata are no part of it."""
    if EXPORTED not in case.metadata:
        return case
    return case.model_copy(
        update={"metadata": {name: value for name, value in case.metadata.items() if name != EXPORTED}}
    )


def read_questionnaire(path: Path) -> Questionnaire:
    """Read the questions that a file describes; the first mistake is named with where it stands."""
    if not path.is_file():
        raise NotFound(f"question file {str(path)!r} does not exist")
    try:
        text = path.read_text(encoding="utf-8")
        table = tomllib.loads(text) if path.suffix == ".toml" else read(text).value
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, Unreadable) as problem:
        raise BadInput(f"question file {str(path)!r} cannot be read: {problem}") from problem
    if not isinstance(table, dict):
        raise BadInput(f"{path}: a table with a list `questions` is wanted")
    try:
        return Questionnaire.model_validate(table)
    except ValidationError as problem:
        raise refused_settings(problem, Questionnaire, str(path)) from problem
