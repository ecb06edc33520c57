"""What a machine changes in a validated case takes the verdict away, unless it only fills what was empty."""

from typing import Any

import pytest

from evergold.model.case import Case, ReviewState
from evergold.store import Store
from evergold.store.case.cases import get_case
from evergold.store.case.writes import Author, put_cases

HELD = Case(id="c", input="Where?", output="In Lima.").as_validated()
MACHINE = Author(who="policy p", action="changed", why="")
REVIEWER = Author(who="ana", action="edited", why="", reviewer=True)


@pytest.mark.parametrize(
    ("changes", "author", "after"),
    [
        ({"output": "In Cusco."}, MACHINE, ReviewState.UNVALIDATED),
        ({"input": "When?"}, MACHINE, ReviewState.UNVALIDATED),
        ({"output": None}, MACHINE, ReviewState.UNVALIDATED),
        ({"expected": "In Lima."}, MACHINE, ReviewState.VALIDATED),
        ({"tags": ("beta",)}, MACHINE, ReviewState.VALIDATED),
        ({"output": "In Cusco."}, REVIEWER, ReviewState.VALIDATED),
    ],
)
def test_a_machine_that_rewrites_takes_validated_away(
    store: Store, changes: dict[str, Any], author: Author, after: ReviewState
) -> None:
    store.db.write(lambda connection: put_cases(connection, [HELD], REVIEWER))
    changed = HELD.model_copy(update=changes)
    assert store.db.write(lambda connection: put_cases(connection, [changed], author)).changed == 1
    with store.db.read() as connection:
        held = get_case(connection, HELD.dataset, HELD.id)
    assert held.review is after and all(getattr(held, name) == value for name, value in changes.items())
