"""Count the fields that a format has no column for, so that an export reports what it carried on the side."""

from collections import Counter
from collections.abc import Iterable, Iterator

from evergold.model.case import Case
from evergold.model.rejected import Rejected
from evergold.seams import Format

WATCHED = ("messages", "turn", "tools", "tool_calls", "expected_tools", "tests", "contexts", "prompt", "citations")


def counted_unheld(
    cases: Iterable[Case], chosen: Format, counts: Counter[str], rejected: list[Rejected]
) -> Iterator[Case]:
    """Pass cases on to a format; count, for each that it writes, the fields it cannot express.

    A format says in `expresses` what it can; one of another package that says nothing is not counted.
    """
    expresses: frozenset[str] | None = getattr(chosen, "expresses", None)
    for case in cases:
        before = len(rejected)
        # Control comes back when the format asks for the next case: by then it has written or rejected this one.
        yield case
        if expresses is not None and len(rejected) == before:
            counts.update(field for field in unheld_fields(case) if field not in expresses)


def unheld_fields(case: Case) -> Iterator[str]:
    """The watched fields that say something; one plain question is no conversation."""
    for name in WATCHED:
        value = case.expected_calls() if name == "expected_tools" else getattr(case, name)
        if value and not (name == "messages" and len(value) == 1) and not (name == "turn" and len(value) == 1):
            yield name
