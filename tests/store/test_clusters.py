"""Which cases of a run belong together."""

from datetime import UTC, datetime

from evergold.model.case import Provenance
from evergold.model.run import Run, RunSpec
from evergold.store import Store
from evergold.store.attempts import AttemptStore
from evergold.store.runs import RunStore
from tests.builders import a_case


def test_a_case_is_clustered_by_session_document_or_repository(store: Store) -> None:
    cases = [
        a_case(id="alone"),
        a_case(id="talks about it", input='{"session_id":"not a session"}'),
        a_case(id="session", provenance=Provenance(session_id="s1", repository="r1")),
        a_case(id="document", provenance=Provenance(document="d1")),
        a_case(id="repository", provenance=Provenance(repository="r1")),
    ]
    spec = RunSpec(dataset="d", model="recorded", metrics=("exact_match",))
    RunStore(store.db).create(Run(id="r", spec=spec, created_at=datetime.now(UTC)), cases)
    assert AttemptStore(store.db).clusters("r") == {"session": "s1", "document": "d1", "repository": "r1"}
