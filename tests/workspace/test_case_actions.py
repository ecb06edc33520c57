"""Cases written, tagged, dismissed and moved by people, each with the way back, on both databases."""

import pytest

from evergold.errors import BadInput, NotFound
from evergold.model.case import CaseStatus
from evergold.model.case_actions import CaseChange, CaseChanged, NewCase
from evergold.model.review import CaseKey
from evergold.review.case_actions import CaseActions
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.case.cases import CaseFilter
from evergold.store.case.writes import Author, put_cases
from evergold.workspace.cases import Cases
from tests.builders import a_case


@pytest.fixture
def actions(store: Store, settings: Settings) -> CaseActions:
    cases = [a_case("c1", tags=("old",)), a_case("c2")]
    store.db.write(lambda connection: put_cases(connection, cases, Author()))
    return CaseActions(store)


def keys(dataset: str, *ids: str) -> tuple[CaseKey, ...]:
    return tuple(CaseKey(dataset=dataset, id=id) for id in ids)


def undo(actions: CaseActions, changed: CaseChanged) -> None:
    for step in changed.undo:
        actions.change(step, "ana")


def ids(store: Store, dataset: str) -> list[str]:
    return sorted(case.id for case in Cases(store).iterate(CaseFilter(dataset=dataset)))


def test_a_case_is_written_by_hand_with_who_wrote_it(actions: CaseActions, store: Store) -> None:
    case = actions.create(NewCase(dataset="faq", input="Q?", expected="A.", tags=("new",)), "ana")
    assert (case.dataset, case.expected, case.tags, case.provenance.source) == ("faq", "A.", ("new",), "manual")
    assert [(one.who, one.action) for one in Cases(store).history("faq", case.id)] == [("ana", "written")]


def test_many_cases_are_tagged_and_dismissed_and_it_is_taken_back(actions: CaseActions, store: Store) -> None:
    wanted = CaseChange(
        cases=keys("live", "c1", "c2"), add_tags=("new",), remove_tags=("old",), status=CaseStatus.DISMISSED
    )
    changed = actions.change(wanted, "ana")
    assert ids(store, "live") == []
    assert Cases(store).get("live", "c1").tags == ("new",)
    undo(actions, changed)
    assert ids(store, "live") == ["c1", "c2"]
    assert [Cases(store).get("live", id).tags for id in ("c1", "c2")] == [("old",), ()]


def test_cases_move_to_another_dataset_and_back(actions: CaseActions, store: Store) -> None:
    changed = actions.change(CaseChange(cases=keys("live", "c1"), dataset="faq"), "ana")
    assert (ids(store, "live"), ids(store, "faq")) == (["c2"], ["c1"])
    assert changed.cases == keys("faq", "c1")
    undo(actions, changed)
    assert (ids(store, "live"), ids(store, "faq")) == (["c1", "c2"], [])


def test_a_case_of_that_name_in_the_other_dataset_is_not_overwritten(actions: CaseActions, store: Store) -> None:
    other = a_case("c1", dataset="faq", input="Another question?")
    store.db.write(lambda connection: put_cases(connection, [other], Author()))
    changed = actions.change(CaseChange(cases=keys("live", "c1", "c2"), dataset="faq"), "ana")
    assert changed.problems == ("dataset 'faq' holds a case 'c1' already; it stays where it is",)
    assert (ids(store, "live"), ids(store, "faq")) == (["c1"], ["c1", "c2"])
    assert Cases(store).get("faq", "c1").input == "Another question?"


def test_what_cannot_be_done_changes_nothing(actions: CaseActions, store: Store) -> None:
    with pytest.raises(NotFound):
        actions.change(CaseChange(cases=keys("live", "c1", "none"), add_tags=("new",)), "ana")
    with pytest.raises(BadInput, match="not erased here"):
        actions.change(CaseChange(cases=keys("live", "c1"), status=CaseStatus.ERASED), "ana")
    assert Cases(store).get("live", "c1").tags == ("old",)


def test_cases_are_exported_as_one_file(actions: CaseActions, store: Store) -> None:
    path = Cases(store).export_to_file(CaseFilter(dataset="live"), "live-jsonl")
    assert (path.name, len(path.read_text().splitlines())) == ("live.jsonl", 2)
    with pytest.raises(BadInput, match="unknown format 'hf'"):
        Cases(store).export_to_file(CaseFilter(), "hf")


def test_repeats_are_merged_into_one_case_and_it_is_taken_back(actions: CaseActions, store: Store) -> None:
    kept = CaseKey(dataset="live", id="c2")
    changed = actions.change(CaseChange(cases=keys("live", "c1", "c2", "c1"), repeats_of=kept), "ana")
    assert changed.cases == keys("live", "c1")
    assert ids(store, "live") == ["c2"]
    assert Cases(store).get("live", "c2").tags == ("old",)
    history = Cases(store).history("live", "c1")
    assert [(one.who, one.action, one.why) for one in history if one.action == "merged"] == [
        ("ana", "merged", "repeats live/c2")
    ]
    undo(actions, changed)
    assert ids(store, "live") == ["c1", "c2"]
    assert Cases(store).get("live", "c2").tags == ()


def test_repeats_are_merged_into_an_active_case_alone(actions: CaseActions, store: Store) -> None:
    actions.change(CaseChange(cases=keys("live", "c1"), status=CaseStatus.DISMISSED), "ana")
    gone = CaseKey(dataset="live", id="c1")
    with pytest.raises(BadInput, match="'c1' is dismissed"):
        actions.change(CaseChange(cases=keys("live", "c2"), repeats_of=gone), "ana")
    changed = actions.change(
        CaseChange(cases=keys("live", "c1", "c2"), repeats_of=CaseKey(dataset="live", id="c2")), "ana"
    )
    assert (changed.cases, changed.problems) == ((), ("case 'c1' is dismissed; it stays as it is",))
