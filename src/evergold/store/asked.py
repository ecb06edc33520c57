"""The question and the reference of each case of a run, as they were when the run began."""

from collections.abc import Iterable
from typing import Any

import orjson
from sqlalchemy import select

from evergold.model.run import Asked
from evergold.store.db import Database
from evergold.store.schema import run_cases
from evergold.store.values import batches

MOST_CHARACTERS = 300


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


def _asked(case: dict[str, Any], case_id: str) -> Asked:
    tools = ", ".join(str(tool.get("name")) for tool in case.get("expected_tools") or ())
    reference = case.get("expected") or (f"calls {tools}" if tools else "")
    question = case.get("input") or case.get("name") or case_id
    return Asked(question=_short(str(question)), reference=_short(str(reference)))


def _short(text: str) -> str:
    line = " ".join(text[: 2 * MOST_CHARACTERS].split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"
