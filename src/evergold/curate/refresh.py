"""Read the traces of stored cases again, after an upgrade that understands more of them; each change is a revision."""

from collections.abc import Callable
from functools import partial

from evergold.store import Store
from evergold.store.case_content import fill_contents
from evergold.store.case_growth import renew_contents
from evergold.store.case_writes import Author, put_cases
from evergold.store.cases import iterate_with_traces
from evergold.store.portions import Portion
from evergold.store.values import batches

# Named like a policy: what a policy alone has made of an entry, a policy may change again.
AUTHOR = Author(who="policy refresh", action="refreshed", why="completed from its trace")
AT_ONCE = 200


def refresh_cases(store: Store, progress: Callable[[int], None] = lambda _: None) -> tuple[int, int]:
    """Complete every active case that cites a stored trace; how many cite one, and how many changed.

    What a person made of a case stays, and only what is empty in it is filled, which takes no verdict away. The content of a
    case that nobody changed is put together again where the trace is read differently by now.
    """
    seen = changed = 0
    portion = Portion(AT_ONCE)
    with store.db.read() as connection:
        # Compared before the transaction: most cases need nothing, and nobody waits meanwhile.
        for batch in batches(iterate_with_traces(connection), AT_ONCE):
            differing = [one for one in batch if one.fresh != one.held]
            for some in portion.of(differing):
                own = [one.fresh for one in some if one.own]
                others = [one.entry for one in some if not one.own]
                changed += store.db.write(portion.timed(partial(put_cases, cases=own, author=AUTHOR))).changed
                changed += store.db.write(partial(renew_contents, entries=others))
            seen += len(batch)
            progress(len(batch))
    fill_contents(store.db)
    return seen, changed
