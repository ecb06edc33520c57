"""Cases that a reviewer decided, beside what a policy had decided last before."""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import Connection, text

from evergold.store.values import loads

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
