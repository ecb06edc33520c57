"""The question and the reference of each case of a run, as they were when the run began."""

from collections.abc import Iterable
from typing import Any

import orjson
from sqlalchemy import select

from evergold.model.case import Case
from evergold.model.run import Asked
from evergold.store.db import Database
from evergold.store.schema import run_cases
from evergold.store.values import batches

MOST_CHARACTERS = 300
_NEEDED = frozenset(Case.model_fields) - {
    "messages",
    "turn",
    "tools",
    "contexts",
    "extra",
    "citations",
    "answer_citations",
}


def asked(db: Database, run_id: str, case_ids: Iterable[str]) -> dict[str, Asked]:
    """Read question and reference of these cases of a run."""
    results: dict[str, Asked] = {}
    with db.read() as connection:
        for batch in batches(dict.fromkeys(case_ids)):
            wanted = select(run_cases.c.case_id, run_cases.c.body).where(
                run_cases.c.run_id == run_id, run_cases.c.case_id.in_(batch)
            )
            for row in connection.execute(wanted):
                results[row.case_id] = _asked(orjson.loads(row.body), row.case_id)
    return results


def _asked(body: dict[str, Any], case_id: str) -> Asked:
    # The conversation, contexts and tools are long and say nothing of either.
    case = Case.model_validate({name: body[name] for name in _NEEDED if name in body})
    reference = case.reference()
    calls = (reference and reference.tool_calls) or case.expected_tools or ()
    text = (reference and reference.text) or (f"calls {', '.join(call.name for call in calls)}" if calls else "")
    return Asked(question=_short(case.input or case.name or case_id), reference=_short(text))


def _short(text: str) -> str:
    line = " ".join(text[: 2 * MOST_CHARACTERS].split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"
