"""Trajectories beside the recorded ones: in a run, in the comparison of two runs, and in review."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import calling, served
from tests.e2e.pages import PHONE
from tests.e2e.pictures import PICTURES
from tests.e2e.review_data import serious_faults
from tests.openai_server import Body, Reply, serving
from tests.replays import flight_case

pytestmark = pytest.mark.slow

Open = Callable[..., Page]
FIND = Reply("", tool_calls=(("find", {"id": "AB12"}),), usage=(210, 14))
CANCEL = ("cancel", {"id": "AB12"})
REFUND = ("refund", {"id": "AB12", "amount": 120})


@dataclass(frozen=True)
class Played:
    """A server with two replays of one dataset: `careful` made the recorded calls, `hasty` others."""

    url: str
    careful: str
    hasty: str


def act(body: Body) -> Reply:
    """Two models: one follows the record; the other leaves out the refund, cancels another booking and is stopped."""
    done: int = sum(message["role"] == "assistant" for message in body["messages"]) - 1
    if body["model"] == "gpt-4o":
        return [FIND, Reply("", tool_calls=(CANCEL, REFUND), usage=(260, 31)), Reply("Done.", usage=(330, 9))][done]
    wrong = Reply("One moment.", tool_calls=(("cancel", {"id": "AB21"}),), usage=(240, 18))
    return [FIND, wrong, Reply("Cancelled.")][done]


@pytest.fixture(scope="module")
def played(built_app: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Played]:
    folder = tmp_path_factory.mktemp("replays")
    with Workspace.open(Settings(home=folder / ".evergold")) as workspace:
        asked = "Please cancel my booking AB12 and refund the fare"
        workspace.cases.put([flight_case(id, dataset="agents", input=asked) for id in ("first", "second")])
        workspace.replay_users.draft("agents", {})
    with (
        serving(act) as model,
        served(folder, OPENAI_BASE_URL=model.url, OPENAI_API_KEY="x") as url,
        calling(url) as client,
    ):
        runs = []
        for name in ("gpt-4o", "gpt-4o-mini"):
            spec = {"dataset": "agents", "model": f"openai/{name}", "metrics": ["trajectory"], "replay": {}}
            run = client.post("/api/v1/benchmarks/runs", json=spec).json()["id"]
            with client.stream("GET", f"/api/v1/benchmarks/runs/{run}/events") as events:
                assert any(line == "event: end" for line in events.iter_lines())
            runs.append(run)
        yield Played(url, *runs)


def no_sideways_scroll(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


def test_a_run_shows_the_trajectory_beside_the_record_with_its_divergence_and_costs(
    opened: Open, played: Played
) -> None:
    page = opened(f"{played.url}/benchmarks/runs/{played.hasty}?case=first", viewport={"width": 1440, "height": 900})
    table = page.get_by_role("dialog").get_by_label("Trajectory beside the record").get_by_role("table")
    steps = table.locator("tbody tr")
    expect(steps).to_have_count(4)
    expect(steps.nth(0)).to_contain_text("as recorded · 224 tokens")
    expect(steps.nth(1)).to_contain_text("first divergence")
    expect(steps.nth(1)).to_contain_text("the replay stopped here: not recorded · 258 tokens")
    expect(steps.nth(1).locator("mark")).to_have_text('id: "AB21"')
    expect(steps.nth(2)).to_contain_text("not called")
    expect(table.locator("tfoot")).to_contain_text("482 tokens")
    assert serious_faults(page) == []


def test_the_comparison_of_two_replays_opens_a_case_step_by_step(opened: Open, played: Played) -> None:
    runs = quote(json.dumps([played.careful, played.hasty]))
    page = opened(f"{played.url}/benchmarks/compare?runs={runs}", viewport={"width": 1440, "height": 1000})
    page.get_by_role("button", name="Please cancel my booking", expanded=False).first.click()
    table = page.get_by_label("Two trajectories beside the record").get_by_role("table")
    expect(table.get_by_role("columnheader")).to_have_text(["Step", "Recorded", "openai/gpt-4o", "openai/gpt-4o-mini"])
    second = table.locator("tbody tr").nth(1).locator("td")
    expect(second.nth(2)).to_contain_text("as recorded")
    expect(second.nth(2)).not_to_contain_text("first divergence")
    expect(second.nth(3)).to_contain_text("first divergence")
    assert serious_faults(page) == []
    page.screenshot(path=PICTURES / "compared-trajectories.png")
    page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    expect(table.locator("thead")).to_be_hidden()
    assert no_sideways_scroll(page)


def test_failing_replays_become_cases_by_one_click_and_review_shows_their_trajectory(
    opened: Open, played: Played
) -> None:
    page = opened(f"{played.url}/benchmarks/runs/{played.hasty}", viewport={"width": 1440, "height": 900})
    page.get_by_role("button", name="Make failing replays cases").click()
    expect(page.get_by_text("2 failing replays are cases to review")).to_be_visible()
    page.get_by_role("link", name="review them").click()
    page.get_by_role("button", name="chat · failure").first.click()
    replays = page.get_by_label("Replays of this case")
    expect(replays.get_by_role("table").locator("tbody tr").nth(1)).to_contain_text("first divergence")
    assert serious_faults(page) == []

    page.goto(f"{played.url}/review?dataset=agents&id=first")
    expect(replays.get_by_text("as recorded").or_(replays.get_by_text("not called")).first).to_be_visible()
    replays.get_by_label("Replay", exact=True).click()
    expect(page.get_by_role("listbox").get_by_role("option")).to_have_count(2)
    page.get_by_role("option", name="openai/gpt-4o ·").click()
    expect(replays.get_by_text("The calls are the recorded ones.")).to_be_visible()
    page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
    assert no_sideways_scroll(page)


def test_a_run_without_failing_replays_says_so(opened: Open, played: Played) -> None:
    page = opened(f"{played.url}/benchmarks/runs/{played.careful}")
    page.get_by_role("button", name="Make failing replays cases").click()
    expect(page.get_by_text("No replay failed")).to_be_visible()


def test_a_drafted_user_is_marked_until_the_reviewer_confirms_it(opened: Open, played: Played) -> None:
    page = opened(f"{played.url}/review?dataset=agents&id=second", viewport={"width": 1440, "height": 900})
    user = page.get_by_label("Simulated user")
    expect(user.get_by_text("Drafted by a rule, not reviewed yet.")).to_be_visible()
    expect(user.get_by_label("Goal")).to_have_value("Hello")
    assert serious_faults(page) == []
    user.get_by_label("Goal").fill("AB12 is cancelled and refunded.")
    user.get_by_role("button", name="Save the user").click()
    expect(user.get_by_text("not reviewed yet")).to_have_count(0)
    page.reload()
    expect(user.get_by_label("Goal")).to_have_value("AB12 is cancelled and refunded.")
