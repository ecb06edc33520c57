"""The Benchmarks page: start a run, follow it, look behind a number, send a failure to review, compare, rank."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from playwright.sync_api import Page, expect

from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import served
from tests.builders import a_case
from tests.e2e.conftest import fill
from tests.e2e.pages import PHONE
from tests.e2e.pictures import PICTURES
from tests.e2e.review_data import serious_faults
from tests.openai_server import Body, Reply, serving

pytestmark = pytest.mark.slow

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def bench(built_app: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server of its own: these tests start runs and make cases."""
    folder = tmp_path_factory.mktemp("bench")
    fill(folder / ".evergold", 15)
    with Workspace.open(Settings(home=folder / ".evergold")) as workspace:
        workspace.cases.put([a_case("namesake", dataset="reasoning")])  # a sample is called so too
    with served(folder) as found:
        yield found


def pick(page: Page, field: str, option: str) -> None:
    page.get_by_role("combobox", name=field).or_(page.get_by_label(field)).first.click()
    page.get_by_role("option", name=option).first.click()


def start(page: Page, url: str, metric: str) -> str:
    page.goto(f"{url}/benchmarks")
    page.get_by_role("button", name="New run").click()
    pick(page, "Dataset", "live")
    page.get_by_label("Model").fill("recorded")
    # What fits the dataset is chosen already; it gives way to the one wanted.
    chosen = page.locator(".mantine-Pill-root")
    expect(chosen.first).to_be_visible()
    for _ in range(chosen.count()):
        page.get_by_label("Metrics").first.press("Backspace")
    expect(chosen).to_have_count(0)
    pick(page, "Metrics", metric)
    page.keyboard.press("Escape")
    expect(page.get_by_text("The smallest difference")).to_be_visible()
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("heading", name="recorded on live")).to_be_visible()
    expect(page.get_by_text("completed")).to_be_visible()
    return page.url.rsplit("/", 1)[1]


def test_from_a_new_run_to_a_case_a_comparison_and_a_ranking(opened: Open, bench: str) -> None:
    page = opened(f"{bench}/benchmarks")
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    first = start(page, bench, "answer_relevancy")
    expect(page.get_by_text("(n=")).to_be_visible()
    page.screenshot(path=PICTURES / "benchmark-run.png")

    page.get_by_role("table").get_by_role("button").first.click()
    expect(page.get_by_text("Answer", exact=True).last).to_be_visible()
    page.get_by_role("button", name="Make it a case to review").click()
    page.get_by_role("link", name="a case to review").click()
    expect(page.get_by_text("failures").first).to_be_visible()
    assert "/cases/failures/" in page.url

    second = start(page, bench, "answer_relevancy")
    assert first != second
    page.goto(f"{bench}/benchmarks")
    expect(page.get_by_role("checkbox")).to_have_count(2)
    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("button", name="Compare 2").click()
    expect(page.get_by_role("region", name="Decision on")).to_contain_text(re.compile("Not decided|Either"))
    assert json.loads(parse_qs(urlsplit(page.url).query)["runs"][0]) == [first, second], "the older is the baseline"
    expect(page.get_by_role("heading", name="No case changed")).to_be_visible()
    page.get_by_role("button", name="Look at all cases").click()
    expect(page.get_by_role("row").filter(has_text="±0.000").first).to_be_visible()
    assert "show=all" in page.url

    page.goto(f"{bench}/benchmarks")
    page.get_by_role("tab", name="Leaderboard").click()
    expect(page.get_by_role("link", name="recorded")).to_be_visible()


def test_a_run_is_found_sorted_read_by_key_scored_again_and_deleted(opened: Open, bench: str) -> None:
    page = opened(f"{bench}/benchmarks", viewport={"width": 1440, "height": 900})
    run = start(page, bench, "answer_relevancy")
    page.goto(f"{bench}/benchmarks")
    row = page.get_by_role("row").filter(has=page.locator(f'a[href$="{run}"]'))
    expect(row).to_contain_text("answer_relevancy 0.")
    expect(row).to_contain_text("(n=")
    page.get_by_role("button", name="Scores").click()
    expect(page.get_by_role("columnheader", name="Scores")).to_have_attribute("aria-sort", "descending")
    page.screenshot(path=PICTURES / "benchmark-runs.png")
    page.get_by_label("Search runs").fill("no such model")
    expect(row).to_have_count(0)

    page.goto(f"{bench}/benchmarks/runs/{run}")
    report = page.get_by_role("link", name="Report").get_attribute("href")
    assert page.request.get(f"{bench}{report}").ok
    page.get_by_role("table").get_by_role("button").first.click()
    task = page.get_by_role("dialog")
    expect(task.get_by_role("group", name="Answer")).to_be_visible()
    expected, answer = (task.get_by_role("group", name=name).bounding_box() for name in ("Expected", "Answer"))
    assert expected
    assert answer
    assert expected["x"] + expected["width"] <= answer["x"]
    page.screenshot(path=PICTURES / "benchmark-task.png")
    first = page.url
    page.keyboard.press("n")
    expect(page).not_to_have_url(first)
    page.keyboard.press("p")
    expect(page).to_have_url(first)
    page.keyboard.press("Escape")

    with page.expect_response("**/rescore") as rescored:
        page.get_by_role("button", name="Score again").click()
    assert rescored.value.ok
    page.reload()
    expect(page.get_by_text("completed")).to_be_visible()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("button", name="Delete the run").click()
    expect(page).to_have_url(f"{bench}/benchmarks")
    expect(row).to_have_count(0)


def weather(body: Body) -> Reply:
    """A model that calls the right tools where it is asked about two cities, and one that only talks."""
    if body["model"] != "caller" or "Oslo and Cairo" not in str(body["messages"]):
        return Reply("I would look out of the window.")
    return Reply("", tool_calls=(("get_weather", {"city": "Oslo"}), ("get_weather", {"city": "Cairo"})))


def test_tools_behind_a_number_and_the_tasks_that_flipped(opened: Open, built_app: None, tmp_path: Path) -> None:
    with serving(weather) as model, served(tmp_path, OPENAI_BASE_URL=model.url, OPENAI_API_KEY="x") as url:
        page = opened(f"{url}/benchmarks")
        runs = []
        for name in ("openai/caller", "openai/talker"):
            spec = {"dataset": "tool-use", "model": name, "metrics": ["tool_correctness"]}
            runs.append(page.request.post(f"{url}/api/v1/benchmarks/runs", data=spec).json()["id"])
            page.goto(f"{url}/benchmarks/runs/{runs[-1]}")
            expect(page.get_by_text("completed")).to_be_visible()

        page.goto(f"{url}/benchmarks/runs/{runs[0]}?case=same-tool-twice")
        task = page.get_by_role("dialog")
        expect(task.get_by_role("group", name="Expected call of get_weather")).to_have_count(2)
        expect(task.get_by_role("group", name="Called get_weather")).to_have_count(2)
        page.keyboard.press("Escape")
        expect(task).to_have_count(0)
        assert "case=" not in page.url

        page.goto(f"{url}/benchmarks/compare?runs={quote(json.dumps(runs))}")
        expect(page.get_by_role("heading", name="openai/talker against openai/caller")).to_be_visible()
        page.get_by_role("button", name="Oslo and Cairo").first.click()
        beside = page.get_by_role("dialog")
        expect(beside.get_by_role("region", name="openai/talker")).to_contain_text("I would look out of the window.")
        expect(beside.locator("mark").first).to_be_visible()
        assert serious_faults(page) == []
        expect(beside.get_by_text(re.compile(r"\d of \d"))).to_be_visible()
        page.keyboard.press("Escape")
        page.goto(f"{url}/benchmarks?tab=trends")
        expect(page.get_by_role("img", name="over time")).to_be_visible()
        assert serious_faults(page) == []

        page.goto(f"{url}/benchmarks?tab=leaderboard")
        expect(page.get_by_role("row").nth(1)).to_contain_text("openai/caller")
        expect(page.get_by_text("Ranked by tool_correctness")).to_be_visible()
        page.context.close()


def answer_sums(body: Body) -> Reply:
    """`old` knows all but one; `new` knows that one, has forgotten two others and gets no reply to a fourth."""
    asked, model = str(body["messages"]), body["model"]
    if model == "new" and "Sum 4?" in asked:
        return Reply("", status=400)
    wrong = {"new": ("Sum 1?", "Sum 2?"), "old": ("Sum 3?",)}.get(model, ())
    return Reply("no" if any(question in asked for question in wrong) else "42")


def test_a_decision_is_read_filtered_by_key_shared_and_made_into_cases(
    opened: Open, built_app: None, tmp_path: Path
) -> None:
    tasks = [{"id": f"t{n}", "name": "T", "input": f"Sum {n}?", "expected_output": "42"} for n in range(8)]
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "sums.yaml").write_text(json.dumps({"name": "Sums", "tasks": tasks}))
    named = {"EVERGOLD_BENCHMARK_DATASETS_DIR": str(folder)}
    with serving(answer_sums) as model, served(tmp_path, OPENAI_BASE_URL=model.url, OPENAI_API_KEY="x", **named) as url:
        page = opened(f"{url}/benchmarks", viewport={"width": 1440, "height": 1000})
        runs = []
        for name in ("old", "new", "third"):
            spec = {"dataset": "sums", "model": f"openai/{name}", "metrics": ["exact_match", "contains"]}
            runs.append(page.request.post(f"{url}/api/v1/benchmarks/runs", data=spec).json()["id"])
            page.goto(f"{url}/benchmarks/runs/{runs[-1]}")
            expect(page.get_by_text("completed")).to_be_visible()

        address = f"{url}/benchmarks/compare?runs={quote(json.dumps(runs[:2]))}"
        page.goto(address)
        decision = page.get_by_role("region", name="Decision on openai/new")
        expect(decision).to_contain_text("Not decided: 8 cases cannot tell openai/new from openai/old")
        expect(decision).to_contain_text("1 error against 0, retried")
        expect(page.get_by_role("row", name="exact_match")).to_contain_text("not decided")
        expect(page.get_by_role("row", name="Errors")).to_contain_text("1 more")
        expect(page.get_by_role("row", name="Cost")).to_contain_text("unknown")
        expect(page.get_by_role("row", name="Cost")).not_to_contain_text("$0")
        expect(page.get_by_role("row", name="Latency")).to_contain_text("ms")
        questions = page.locator("button[data-case]")
        expect(questions).to_have_text(["Sum 4?", "Sum 1?", "Sum 2?", "Sum 3?"])
        expect(page.get_by_role("row").filter(has_text="Sum 1?")).to_contain_text("−1.000")
        assert serious_faults(page) == []
        page.screenshot(path=PICTURES / "decision.png", full_page=True)

        page.keyboard.press("j")
        page.keyboard.press("j")
        expect(questions.nth(1)).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog").get_by_text("2 of 4")).to_be_visible()
        page.keyboard.press("Escape")
        page.get_by_text("Errors 1").click()
        expect(questions).to_have_text(["Sum 4?"])
        page.get_by_role("combobox", name="Metric").click()
        page.get_by_role("option", name="contains").click()
        expect(page).to_have_url(re.compile("metric=contains"))
        page.reload()
        expect(questions).to_have_text(["Sum 4?"])

        page.goto(f"{address}&show=lost")
        expect(questions).to_have_count(3)
        page.get_by_role("button", name="Make 3 lost cases to review…").click()
        page.get_by_label("Dataset").fill("regressions")
        page.get_by_role("button", name="Make 3 cases").click()
        expect(page.get_by_text("2 cases to review in regressions; 1 had no answer")).to_be_visible()

        page.goto(f"{url}/benchmarks/compare?runs={quote(json.dumps(runs))}")
        expect(page.get_by_role("heading", name="2 runs against openai/old")).to_be_visible()
        expect(page.get_by_role("region", name="Decision on")).to_have_count(2)
        page.get_by_role("combobox", name="Candidate").click()
        page.get_by_role("option", name="openai/third").click()
        expect(questions).to_have_text(["Sum 3?"])
        assert serious_faults(page) == []
        page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        page.context.close()


def test_a_phone_shows_runs_without_scrolling_sideways(opened: Open, bench: str) -> None:
    page = opened(f"{bench}/benchmarks", viewport=PHONE)
    expect(page.get_by_role("heading", name="Benchmarks", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_an_unknown_run_is_said(opened: Open, bench: str) -> None:
    page = opened(f"{bench}/benchmarks/runs/nope", expected="404")
    expect(page.get_by_role("heading", name="Not here")).to_be_visible()
