"""Questions of datasets with the answers of reviewers, and reviewed cases beside what a policy had decided before."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Select, delete, insert, select, text

from evergold.model.review import AnswerOn, CaseKey, Questionnaire, ReviewAnswer
from evergold.store.case.cases import entry_id_of, entry_ids
from evergold.store.database.rows import batches, dumps, loads, now
from evergold.store.schema import eval_dataset, review_answers, review_questions

_answer = review_answers.c


def questionnaire_of(connection: Connection, dataset: str) -> Questionnaire:
    """The questions of a dataset; none where nobody wrote any."""
    query = select(review_questions.c.body).where(review_questions.c.dataset == dataset)
    body = connection.execute(query).scalar()
    return Questionnaire() if body is None else Questionnaire.model_validate(loads(body))


def questionnaires(connection: Connection) -> dict[str, Questionnaire]:
    """Every dataset that has questions of its own."""
    rows = connection.execute(select(review_questions.c.dataset, review_questions.c.body).order_by("dataset"))
    return {dataset: Questionnaire.model_validate(loads(body)) for dataset, body in rows}


def put_questionnaire(connection: Connection, dataset: str, wanted: Questionnaire, who: str) -> None:
    """Store the questions of a dataset. Answers to questions that are gone stay, and count no more."""
    connection.execute(delete(review_questions).where(review_questions.c.dataset == dataset))
    if wanted.questions:
        body = dumps(wanted.model_dump(mode="json"))
        row = {"dataset": dataset, "body": body, "who": who, "updated_at": now()}
        connection.execute(insert(review_questions), row)


def put_answers(connection: Connection, key: CaseKey, answers: Iterable[ReviewAnswer]) -> None:
    """Store answers, each in the stead of the reviewer's last one; a value of None takes that one back."""
    entry = entry_id_of(connection, key.dataset, key.id)
    for given in answers:
        mine = (_answer.entry_id == entry, _answer.reviewer == given.reviewer, _answer.question == given.question)
        # One row per reviewer and question: deleting first makes the same statement serve new, changed and withdrawn
        # answers.
        connection.execute(delete(review_answers).where(*mine))
        if given.value is not None:
            row = given.model_dump(include={"reviewer", "question", "rev"})
            row |= {"entry_id": entry, "value": dumps(given.value), "created_at": now()}
            connection.execute(insert(review_answers), row)


def answers_on(connection: Connection, key: CaseKey) -> list[ReviewAnswer]:
    """Every answer on one case."""
    table = eval_dataset.c
    query = _answers().where(table.dataset == key.dataset, table.case_id == key.id)
    return [given.answer for given in _read(connection, query)]


def answers_in(connection: Connection, dataset: str | None) -> list[AnswerOn]:
    """Every answer on the cases of a dataset, or of all."""
    query = _answers()
    return _read(connection, query if dataset is None else query.where(eval_dataset.c.dataset == dataset))


def answers_to(connection: Connection, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[ReviewAnswer]]:
    """The answers on these cases, by dataset and case."""
    results: dict[tuple[str, str], list[ReviewAnswer]] = {}
    for batch in batches(list(entry_ids(connection, keys).values())):
        for given in _read(connection, _answers().where(_answer.entry_id.in_(batch))):
            results.setdefault((given.dataset, given.id), []).append(given.answer)
    return results


def _answers() -> Select[Any]:
    joined = select(review_answers, eval_dataset.c.dataset, eval_dataset.c.case_id).join(
        eval_dataset, eval_dataset.c.id == _answer.entry_id
    )
    return joined.order_by(_answer.entry_id, _answer.reviewer, _answer.question)


def _read(connection: Connection, query: Select[Any]) -> list[AnswerOn]:
    return [
        AnswerOn(
            dataset=row["dataset"],
            id=row["case_id"],
            answer=ReviewAnswer(
                value=loads(row["value"]),
                at=row["created_at"],
                **{name: row[name] for name in ("question", "reviewer", "rev")},
            ),
        )
        for row in connection.execute(query).mappings()
    ]


NONE = "none"


class Decided(NamedTuple):
    """One case: the policy's class, its rule and the scores that decided it; the reviewer's class."""

    rule: str
    machine: str
    person: str
    checks: tuple[str, ...]


def decided_cases(connection: Connection) -> Iterator[Decided]:
    """Read every case that a policy made and on which a reviewer's word stands."""
    # A withdrawal says that the trace no longer qualifies, not what its class is: the verdict before it counts.
    last = """SELECT max(x.version) FROM case_revisions x WHERE x.entry_id = d.id AND x.who LIKE 'policy %'
        AND x.action <> 'withdrawn'"""
    query = f"""SELECT r.why, r.evidence, d.entry_type, d.status FROM eval_dataset d
        JOIN case_revisions r ON r.entry_id = d.id AND r.version = ({last})
        WHERE d.policy IS NOT NULL AND d.decided <> '' AND d.status <> 'erased'"""
    for why, evidence, entry_type, status in connection.execute(text(query)):
        facts = loads(evidence)
        tier = facts.get("is", NONE)
        machine = "golden" if tier in ("candidate", "confirmed") else tier
        names = {str(score["name"]) for score in facts.get("scores") or () if score.get("source") != "user"}
        yield Decided(why, machine, NONE if status == "dismissed" else entry_type, tuple(sorted(names)))
