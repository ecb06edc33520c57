"""The question and the reference that a run shows of a case."""

from datetime import UTC, datetime

import pytest

from evergold.model.case import Answer, Case, EntryType
from evergold.model.run import Run, RunSpec
from evergold.model.tool_calls import ExpectedTool
from evergold.store import Store
from evergold.store.run.runs import RunStore, read_questions
from tests.builders import a_case

REMARK = a_case("c", input="Since when?", output="April.", expected="no, later", entry_type=EntryType.CORRECTION)
SHOWN = {
    "the words that corrected are no reference": (REMARK, ""),
    "the corrected answer": (
        REMARK.model_copy(update={"revised": Answer(text="Since May.", trace_id="t2")}),
        "Since May.",
    ),
    "what a person approved": (REMARK.model_copy(update={"approved": Answer(text="May.")}), "May."),
    "the golden answer": (a_case("c", input="Since when?", output="May.", entry_type=EntryType.GOLDEN), "May."),
    "expected calls": (
        a_case("c", output=None, expected=None, expected_tools=(ExpectedTool(name="find"), ExpectedTool(name="book"))),
        "calls find, book",
    ),
}


@pytest.mark.parametrize("name", SHOWN)
def test_a_run_shows_the_reference_that_metrics_use(store: Store, name: str) -> None:
    case, reference = SHOWN[name]
    assert _shown(store, case) == reference


def _shown(store: Store, case: Case) -> str:
    spec = RunSpec(dataset="d", model="recorded", metrics=("exact_match",))
    RunStore(store.db).create(Run(id="r", spec=spec, created_at=datetime.now(UTC)), [case])
    return read_questions(store.db, "r", ["c"])["c"].reference
