"""Targets for runs over recorded conversations: one answers rightly, two answer wrongly.

`right` gives each case its reference, `refusing` always says the same and calls nothing, and `of_another` gives the reference
of another case: a fluent answer of the same domain with calls of the same tools, and wrong. `remember` names the cases first.
"""

from collections.abc import Iterable
from typing import Any

from evergold.model.case import Case

_BY_ID: dict[str, dict[str, Any]] = {}
_OTHER: dict[str, str] = {}


def remember(cases: Iterable[Case]) -> None:
    """Keep the references of cases, and for each case the next one whose reference says something else."""
    _BY_ID.clear()
    _OTHER.clear()
    for case in cases:
        if (reference := case.reference()) is not None:
            _BY_ID[case.id] = {"output": reference.text or "", "tool_calls": list(reference.tool_calls or ())}
    ids = sorted(_BY_ID)
    for number, one in enumerate(ids):
        others = ids[number + 1 :] + ids[:number]
        _OTHER[one] = next((other for other in others if _says(other) != _says(one)), one)


def _says(case_id: str) -> str:
    return " ".join(str(_BY_ID[case_id]["output"]).casefold().split())


def right(case: Case) -> dict[str, Any]:
    """Answer with the reference of the case."""
    return _BY_ID.get(case.id, {"output": "There is no reference."})


def refusing(prompt: str) -> str:
    """Answer nothing of what was asked."""
    return "I cannot help."


def of_another(case: Case) -> dict[str, Any]:
    """Answer with the reference of another case."""
    return _BY_ID[_OTHER[case.id]] if case.id in _OTHER else {"output": "There is no reference."}
