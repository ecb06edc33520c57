"""Which cases of a run belong together."""

from datetime import UTC, datetime

from evergold.model.case import Case, Provenance
from evergold.model.run import Run, RunSpec
from evergold.store import Store
from evergold.store.run.attempts import AttemptStore
from evergold.store.run.runs import RunStore
from tests.builders import a_case


def clusters_of(store: Store, *cases: Case) -> dict[str, str]:
    spec = RunSpec(dataset="d", model="recorded", metrics=("exact_match",))
    RunStore(store.db).create(Run(id="r", spec=spec, created_at=datetime.now(UTC)), cases)
    return AttemptStore(store.db).clusters("r")


def test_a_case_is_clustered_by_session_document_or_repository(store: Store) -> None:
    assert clusters_of(
        store,
        a_case(id="alone"),
        a_case(id="talks about it", input='{"session_id":"not a session"}'),
        a_case(id="session", provenance=Provenance(session_id="s1", repository="r1")),
        a_case(id="document", provenance=Provenance(document="d1")),
        a_case(id="repository", provenance=Provenance(repository="r1")),
        a_case(id="another", provenance=Provenance(repository="r2")),
    ) == {"session": "s1", "document": "d1", "repository": "r1", "another": "r2"}


def test_the_only_repository_of_a_run_is_its_subject_and_no_cluster(store: Store) -> None:
    cases = [a_case(id=name, provenance=Provenance(repository="r1")) for name in ("one", "two")]
    talk = a_case(id="talk", provenance=Provenance(session_id="s1", repository="r1"))
    assert clusters_of(store, *cases, talk) == {"talk": "s1"}
