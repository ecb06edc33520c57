"""Questions of datasets with the answers of reviewers, and reviewed cases beside what a policy had decided before."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, insert
from sqlalchemy.engine import RowMapping

from evergold.model.review import AnswerOn, CaseKey, Questionnaire, ReviewAnswer
from evergold.store.case.cases import entry_id_of, entry_ids, rows_of_cases
from evergold.store.database.rows import batches, dumps, loads, now, run_sql
from evergold.store.schema import review_answers, review_questions

_IN_ORDER = "x.entry_id, x.reviewer, x.question"


def questionnaire_of(connection: Connection, dataset: str) -> Questionnaire:
    """The questions of a dataset; none where nobody wrote any."""
    return questionnaires(connection, dataset).get(dataset, Questionnaire())


def questionnaires(connection: Connection, dataset: str | None = None) -> dict[str, Questionnaire]:
    """Every dataset, or this one, that has questions of its own."""
    query = """SELECT dataset, body FROM review_questions
        WHERE CAST(:dataset AS text) IS NULL OR dataset = :dataset ORDER BY dataset"""
    rows = run_sql(connection, query, dataset=dataset)
    return {name: Questionnaire.model_validate(loads(body)) for name, body in rows}


def put_questionnaire(connection: Connection, dataset: str, wanted: Questionnaire, who: str) -> None:
    """Store the questions of a dataset. Answers to questions that are gone stay, and count no more."""
    run_sql(connection, "DELETE FROM review_questions WHERE dataset = :dataset", dataset=dataset)
    if wanted.questions:
        body = dumps(wanted.model_dump(mode="json"))
        row = {"dataset": dataset, "body": body, "who": who, "updated_at": now()}
        connection.execute(insert(review_questions), row)


def put_answers(connection: Connection, key: CaseKey, answers: Iterable[ReviewAnswer]) -> None:
    """Store answers, each in the stead of the reviewer's last one; a value of None takes that one back."""
    entry = entry_id_of(connection, key.dataset, key.id)
    for given in answers:
        row = given.model_dump(include={"reviewer", "question", "rev"}) | {"entry_id": entry}
        # One row per reviewer and question: deleting first makes the same statement serve new, changed and withdrawn answers.
        mine = "entry_id = :entry_id AND reviewer = :reviewer AND question = :question"
        run_sql(connection, f"DELETE FROM review_answers WHERE {mine}", **row)
        if given.value is not None:
            row |= {"value": dumps(given.value), "created_at": now()}
            connection.execute(insert(review_answers), row)


def answers_on(connection: Connection, key: CaseKey) -> list[ReviewAnswer]:
    return [given.answer for given in answers_in(connection, key.dataset, key.id)]


def answers_in(connection: Connection, dataset: str | None, case_id: str | None = None) -> list[AnswerOn]:
    """Every answer on the cases of a dataset, or of all, or on one case."""
    return [_answer_of(row) for row in rows_of_cases(connection, "review_answers", _IN_ORDER, dataset, case_id)]


def answers_to(connection: Connection, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], list[ReviewAnswer]]:
    """The answers on these cases, by dataset and case."""
    results: dict[tuple[str, str], list[ReviewAnswer]] = {}
    for batch in batches(list(entry_ids(connection, keys).values())):
        for given in map(_answer_of, rows_of_cases(connection, "review_answers", _IN_ORDER, entries=batch)):
            results.setdefault((given.dataset, given.id), []).append(given.answer)
    return results


def _answer_of(row: RowMapping) -> AnswerOn:
    named = {name: row[name] for name in ("question", "reviewer", "rev")}
    answer = ReviewAnswer(value=loads(row["value"]), at=row["created_at"], **named)
    return AnswerOn(dataset=row["dataset"], id=row["case_id"], answer=answer)


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
    for why, evidence, entry_type, status in run_sql(connection, query):
        facts = loads(evidence)
        tier = facts.get("is", NONE)
        machine = "golden" if tier in ("candidate", "unconfirmed", "confirmed") else tier
        names = {str(score["name"]) for score in facts.get("scores") or () if score.get("source") != "user"}
        yield Decided(why, machine, NONE if status == "dismissed" else entry_type, tuple(sorted(names)))
