"""Cases that people make from traces by hand."""

from pathlib import Path

import pytest

from evergold.errors import Conflict, NotFound
from evergold.model.case import EntryType, Origin, ReviewState
from evergold.model.case_actions import Picking
from evergold.model.trace import Score, ScoreSource
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace
from tests.builders import a_trace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    opened = Workspace.open(Settings(home=tmp_path / "home"))
    opened.intake.accept([a_trace("t1", input="When do you open?", output="At ten.", session_id="s", user_id="u")])
    return opened


def test_a_written_answer_makes_a_validated_case_with_a_persons_reference(workspace: Workspace) -> None:
    with workspace:
        (made,) = workspace.case_actions.pick(Picking(trace_ids=("t1",), answer="At nine."), "ana")
        assert made.problem is None
        case = workspace.cases.get("picked", "t1")
        reference = case.reference()
        assert reference is not None and (reference.text, reference.origin) == ("At nine.", Origin.PERSON)
        assert (case.entry_type, case.review) == (EntryType.FAILURE, ReviewState.VALIDATED)
        assert (case.provenance.user_id, case.provenance.session_id) == ("u", "s")
        assert case.messages[-1]["content"] == "When do you open?"
        assert workspace.cases.history("picked", "t1")[0].who == "ana"


def test_without_an_answer_the_case_waits_for_review(workspace: Workspace) -> None:
    with workspace:
        workspace.case_actions.pick(Picking(trace_ids=("t1",), dataset="later", tags=("look",)), "ana")
        case = workspace.cases.get("later", "t1")
        assert case.review is ReviewState.UNVALIDATED and "look" in case.tags


def test_a_trace_is_taken_once_and_what_is_missing_is_named(workspace: Workspace) -> None:
    with workspace:
        workspace.case_actions.pick(Picking(trace_ids=("t1",), answer="At nine."), "ana")
        again, gone = workspace.case_actions.pick(Picking(trace_ids=("t1", "nobody")), "ben")
        assert "already in 'picked'" in (again.problem or "") and "no trace 'nobody'" in (gone.problem or "")
        approved = workspace.cases.get("picked", "t1").approved
        assert approved is not None and approved.text == "At nine."
        with pytest.raises(NotFound):
            workspace.case_actions.conversation("nobody")


def test_an_answer_goes_to_the_case_that_the_trace_has_already(workspace: Workspace) -> None:
    with workspace:
        wrong = Score(name="rating", value=0.0, source=ScoreSource.USER)
        workspace.intake.accept([a_trace("t2", input="When do you open?", output="At ten.", scores=(wrong,))])
        workspace.live.curate()
        (own,) = workspace.cases.page(CaseFilter(dataset="live"), limit=5, before=None)[0]
        (made,) = workspace.case_actions.pick(Picking(trace_ids=("t2",), dataset="live", answer="At nine."), "ana")
        assert (made.problem, made.updated, made.id) == (None, True, own.id)
        workspace.live.curate()
        case = workspace.cases.get("live", own.id)
        reference = case.reference()
        assert reference is not None and (reference.text, reference.origin) == ("At nine.", Origin.PERSON)
        assert (case.entry_type, case.review) == (EntryType.FAILURE, ReviewState.VALIDATED)
        assert workspace.cases.history("live", own.id)[-1].who == "ana"
        assert made.undo is not None
        workspace.case_actions.change(made.undo, "ana")
        back = workspace.cases.get("live", own.id)
        for field in ("entry_type", "review", "evidence", "approved", "tags", "status"):
            assert getattr(back, field) == getattr(own, field), field
        with pytest.raises(Conflict):
            workspace.case_actions.change(made.undo, "ana")
