"""A search of whole conversations: the list shows where a trace holds the words, and the trace opens on them, marked."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from evergold.model.trace import Trace
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import served
from tests.e2e.pages import wait_until

pytestmark = pytest.mark.slow

Open = Callable[..., Page]

HIGHLIGHTED = "[...(CSS.highlights.get('eg-searched') ?? [])].map(String)"
MESSAGES = [
    {"role": "user", "content": "Do you repair tents?"},
    {"role": "assistant", "content": "Yes, we do."},
    *[
        {"role": role, "content": f"{role} speaks of something else {number}. " * 30}
        for number in range(8)
        for role in ("user", "assistant")
    ],
    {"role": "user", "content": "Where is mine?"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "c1", "function": {"name": "find_repair", "arguments": '{"tag":"K-118"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "on the bench, waiting for a médano pole"},
    {"role": "assistant", "content": "It is nearly done."},
]


@pytest.fixture(scope="module")
def workshop(built_app: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with a trace whose earlier turns and tools hold words that its question and answer do not."""
    folder = tmp_path_factory.mktemp("workshop")
    with Workspace.open(Settings(home=folder / ".evergold")) as workspace:
        spans = [{"id": "a", "kind": "llm", "name": "chat", "metadata": {"messages": MESSAGES}}]
        held = {"id": "repair", "input": "Where is mine?", "output": "It is nearly done.", "spans": spans}
        workspace.intake.accept(
            [Trace.model_validate(held), Trace(id="other", input="Do you sell tents?", output="Yes.")]
        )
    with served(folder) as url:
        yield url


def test_a_hit_is_shown_in_the_list_and_marked_in_the_trace(opened: Open, workshop: str) -> None:
    page = opened(f"{workshop}/traces")
    page.get_by_label("Search traces").fill("medano pole")
    rows = page.get_by_role("list", name="Traces").get_by_role("link")
    expect(rows).to_have_count(1)
    expect(rows.first).to_contain_text("Result of find_repair, turn 10: on the bench, waiting for a médano pole")
    expect(rows.first.locator("mark")).to_have_text(["médano", "pole"])
    rows.first.click()
    call = page.get_by_role("group", name="Result").get_by_text("waiting for a médano pole")
    expect(call).to_be_in_viewport()
    wait_until(page, f"{HIGHLIGHTED}.join() === 'médano,pole'")


def test_a_hit_in_an_earlier_turn_is_unfolded(opened: Open, workshop: str) -> None:
    page = opened(f"{workshop}/traces/repair?q=repair+tents")
    expect(page.get_by_text("Do you repair tents?").last).to_be_in_viewport()
    wait_until(page, f"{HIGHLIGHTED}.slice(0, 2).join() === 'repair,tents'")
