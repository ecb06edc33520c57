"""Complete cases that were made earlier from the traces they cite; each change is a revision."""

from collections.abc import Callable, Sequence
from functools import partial

from sqlalchemy import Connection

from evergold.model.case import Case
from evergold.store import Store
from evergold.store.case_content import Contents
from evergold.store.case_writes import Author, put_cases
from evergold.store.cases import CaseFilter, iterate_cases
from evergold.store.portions import Portion
from evergold.store.values import batches

# Named like a policy: what a policy alone has made of an entry, a policy may change again.
AUTHOR = Author(who="policy refresh", action="refreshed", why="completed from its trace")
AT_ONCE = 200


def refresh_cases(store: Store, progress: Callable[[int], None] = lambda _: None) -> tuple[int, int]:
    """Fill what is empty in every active case that cites a stored trace; how many cite one, and how many changed.

    What a case says already, and what a person made of it, stays. Filling empty fields takes no verdict away.
    """
    seen = changed = 0
    portion = Portion(AT_ONCE)
    with store.db.read() as connection:
        citing = (case for case in iterate_cases(connection, CaseFilter()) if case.provenance.trace_id)
        for batch in batches(citing, AT_ONCE):
            # Read before the transaction: most cases need nothing, and nobody waits meanwhile.
            lacking = [
                case for case, filled in zip(batch, _completed(connection, batch), strict=True) if filled != case
            ]
            for some in portion.of(lacking):
                changed += store.db.write(portion.timed(partial(_refresh, cases=some)))
            seen += len(batch)
            progress(len(batch))
    return seen, changed


def _completed(connection: Connection, cases: Sequence[Case]) -> list[Case]:
    read = Contents(connection, {case.provenance.trace_id for case in cases if case.provenance.trace_id})
    return [read.complete(case, case.provenance.trace_id or "") for case in cases]


def _refresh(connection: Connection, cases: Sequence[Case]) -> int:
    return put_cases(connection, _completed(connection, cases), AUTHOR).changed
