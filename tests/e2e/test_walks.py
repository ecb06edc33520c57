"""Tasks that people come with, each walked in a real browser; clicks, keys and texts are held to the docs."""

import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from evergold.model.trace import Score, ScoreSource, Trace, TraceStatus
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import calling, served
from tests.builders import a_case
from tests.e2e.conftest import fill
from tests.e2e.hands import DOCS, Hands, documented, documented_before, hold
from tests.openai_server import Body, Reply, serving
from tests.replays import flight_case

pytestmark = pytest.mark.slow

Open = Callable[..., Page]
CASES = "\n".join(
    f'{{"id": "faq-{number}", "dataset": "faq", "kind": "chat", "input": "Question {number}?"}}' for number in range(3)
)


def answer(body: Body) -> Reply:
    """`careful` answers as the cases expect; `hasty` does not, and makes no call."""
    question = str(body["messages"][-1].get("content"))
    return Reply("Three days." if body["model"] == "careful" and "take" in question else "I do not know.")


def failing(now: datetime) -> Trace:
    yesterday = now - timedelta(days=1)
    return Trace(
        id="failing",
        name="refunds",
        input="How long do refunds take?",
        output="Ten years.",
        status=TraceStatus.FAILED,
        started_at=yesterday,
        ended_at=yesterday + timedelta(seconds=9),
        metadata={"model": "slow-chat-9", "cost": 0.2, "error": "upstream timed out"},
        scores=(Score(name="grounded", value=0.0),),
    )


def complaints(now: datetime) -> Iterator[Trace]:
    """Seven answers that people held wrong yesterday, five of them about vouchers; one more about them is older."""
    noon = (now.astimezone() - timedelta(days=1)).replace(hour=12, minute=0)
    wrong = (Score(name="opinion", value=0.0, source=ScoreSource.HUMAN),)
    for number in range(8):
        subject = "voucher" if number < 6 else "gift box"
        at = noon - timedelta(days=3 if number == 5 else 0, seconds=number)
        yield Trace(
            id=f"held-wrong-{number}",
            name="support-chat",
            input=f"Is {subject} {number} still valid?",
            output="Yes.",
            started_at=at,
            ended_at=at + timedelta(seconds=1),
            scores=wrong,
        )


@pytest.fixture(scope="module")
def desk(built_app: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with some days of traces, cases to review, two runs and a conversation to replay."""
    folder = tmp_path_factory.mktemp("walks")
    fill(folder / ".evergold", 60)
    with Workspace.open(Settings(home=folder / ".evergold")) as workspace:
        now = datetime.now(UTC)
        chinese = Trace(
            id="chinese", name="support-chat", input="我怎样取消我的订阅？", output="在设置里。", started_at=now
        )
        good = Trace(id="quiet", name="support-chat", input="Do you deliver on Sunday?", output="Yes.", started_at=now)
        workspace.intake.accept([failing(now), chinese, good, *complaints(now)])
        workspace.live.curate()
        workspace.cases.put(
            a_case(f"r{number:02d}", dataset="to-review", input=f"Question {number}?") for number in range(20)
        )
        questions = ("How long do refunds take?", "How long does delivery take?", "Where are you?")
        workspace.cases.put(
            a_case(f"e{number}", dataset="exam", input=question, expected="Three days.")
            for number, question in enumerate(questions)
        )
        workspace.cases.put([flight_case("flight", dataset="agents", input="Please cancel my booking AB12")])
    environment = {"OPENAI_API_KEY": "x", "EVERGOLD_REVIEW_REVIEWERS": ""}
    with serving(answer) as model, served(folder, OPENAI_BASE_URL=model.url, **environment) as url:
        run_exam(url)
        yield url


def run_exam(url: str) -> None:
    with calling(url) as client:
        for name in ("careful", "hasty"):
            spec = {"dataset": "exam", "model": f"openai/{name}", "metrics": ["exact_match"]}
            run = client.post("/api/v1/benchmarks/runs", json=spec).json()["id"]
            with client.stream("GET", f"/api/v1/benchmarks/runs/{run}/events") as events:
                assert any(line == "event: end" for line in events.iter_lines())


def hands_of(page: Page) -> Hands:
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    return Hands(page)


def test_a_failing_trace_of_yesterday_becomes_a_case_with_the_right_answer(opened: Open, desk: str) -> None:
    page = opened(f"{desk}/")
    hands = hands_of(page)
    hands.click(page.get_by_role("link", name=re.compile("^slow-chat-9, Errors")))
    hands.click(page.get_by_role("list", name="Traces").get_by_role("link").first)
    expect(page.get_by_text("upstream timed out").first).to_be_visible()
    hands.press("c")
    hands.write(page.get_by_label("The right answer"), "Three working days.")
    hands.press("Control+Enter")
    expect(page.get_by_text("Updated 1 case in live.")).to_be_visible()
    hold("a failing trace of yesterday becomes a case with the right answer", hands)


def answer_late(route: Route) -> None:
    time.sleep(0.1)
    route.continue_()


def test_five_cases_are_made_of_the_failures_of_yesterday_about_one_subject(opened: Open, desk: str) -> None:
    page = opened(f"{desk}/")
    hands = hands_of(page)
    hands.click(page.get_by_role("navigation", name="Main").get_by_role("link", name="Traces"))
    usual = page.get_by_role("navigation", name="Usual lists")
    hands.click(usual.get_by_role("button", name="Yesterday"))
    hands.click(usual.get_by_role("button", name="Failures"))
    hands.press("/")
    hands.write(page.get_by_label("Search traces"), "voucher")
    expect(page.get_by_text("End of the list: 5 traces")).to_be_visible()
    hands.press("Escape", "a")
    bulk = page.get_by_role("region", name="Chosen traces")
    hands.click(bulk.get_by_role("button", name="Make cases…"))
    expect(page.get_by_role("dialog", name="Make cases of these traces")).to_be_visible()
    hands.press("Control+Enter")
    expect(bulk).to_contain_text("5 cases in")
    hold("find yesterday's failures about a subject, make five cases", hands)


def test_a_dataset_is_frozen_and_compared_with_its_version_before(opened: Open, desk: str) -> None:
    with calling(desk) as client:
        assert client.post("/api/v1/builds", json={"dataset": "exam"}).is_success
        answered = {"dataset": "exam", "kind": "qa", "input": "Do you open on Sundays?", "expected": "Yes."}
        assert client.post("/api/v1/cases", json=answered).is_success
    page = opened(f"{desk}/")
    hands = hands_of(page)
    hands.click(page.get_by_role("navigation", name="Main").get_by_role("link", name="Datasets"))
    hands.click(page.get_by_role("list", name="Datasets").get_by_role("link", name="exam"))
    hands.click(page.get_by_role("button", name="Freeze"))
    hands.click(page.get_by_role("dialog").get_by_role("button", name="Freeze"))
    expect(page.get_by_role("dialog")).to_be_hidden()
    hands.click(page.get_by_text("Compare", exact=True))
    expect(page.get_by_role("list", name="Added").get_by_role("listitem")).to_have_count(1)
    hold("freeze a dataset, see what changed since its version before", hands)


def test_a_run_is_started(opened: Open, desk: str) -> None:
    page = opened(f"{desk}/")
    hands = hands_of(page)
    hands.click(page.get_by_role("navigation", name="Main").get_by_role("link", name="Benchmarks"))
    hands.click(page.get_by_role("button", name="New run"))
    hands.click(page.get_by_role("combobox", name="Dataset"))
    hands.click(page.get_by_role("option", name=re.compile("^exam")).first)
    expect(page.locator(".mantine-Pill-root").first).to_be_visible()
    hands.write(page.get_by_label("Model"), "openai/careful")
    hands.press("Enter")
    expect(page.get_by_role("heading", name="openai/careful on exam")).to_be_visible()
    hold("run a model on a dataset", hands)


def test_an_alert_is_set(opened: Open, desk: str) -> None:
    page = opened(f"{desk}/")
    hands = hands_of(page)
    hands.click(page.get_by_role("navigation", name="Main").get_by_role("link", name="Settings"))
    hands.write(page.get_by_label("Check or score"), "grounded")
    hands.press("Enter")
    expect(page.get_by_role("row").filter(has_text="failing_rate:grounded")).to_be_visible()
    hold("be alerted when a check fails too often", hands)


def test_cases_are_exported(opened: Open, desk: str) -> None:
    page = opened(f"{desk}/")
    hands = hands_of(page)
    hands.click(page.get_by_role("navigation", name="Main").get_by_role("link", name="Cases"))
    hands.click(page.get_by_role("button", name="Export…"))
    with page.expect_download() as download:
        hands.click(page.get_by_role("menuitem", name="case-jsonl"))
    assert download.value.path().stat().st_size > 0
    hold("export cases", hands)


def test_a_comparison_is_shared(opened: Open, desk: str) -> None:
    page = opened(f"{desk}/", permissions=["clipboard-read", "clipboard-write"])
    hands = hands_of(page)
    hands.click(page.get_by_role("navigation", name="Main").get_by_role("link", name="Benchmarks"))
    hands.click(page.get_by_role("link", name=re.compile("^(Not decided|Worse|Better)")).first)
    hands.click(page.get_by_role("button", name="Copy link"))
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("openai/")  # the models, once their runs have come
    title = heading.inner_text()
    colleague = opened(page.evaluate("navigator.clipboard.readText()"))
    expect(colleague.get_by_role("heading", name=title, level=1)).to_be_visible()
    hold("share a comparison", hands)


def test_twenty_reviews_by_key_and_a_disagreement(opened: Open, desk: str) -> None:
    people = []
    for name, keys in (("ana", "a" * 20), ("bo", "d")):
        page = opened(f"{desk}/benchmarks")
        page.evaluate("name => localStorage.setItem('evergold.reviewer', name)", name)
        page.goto(f"{desk}/review?set=to-review" + ("" if name == "ana" else "&dataset=to-review&id=r00"))
        expect(page.get_by_text("in view")).to_be_visible()
        hands = Hands(page)
        if name == "ana":
            hands.press("n")
        if name == "ana":
            # As fast as a machine types, while verdicts take their time: no key is lost, each is for the case after the last.
            page.route("**/api/v1/decisions*", answer_late)
        else:
            expect(page.get_by_role("heading", name="Question 0?")).to_be_visible()
        hands.press(*keys)
        if name == "ana":
            expect(page.get_by_text("in view")).to_contain_text("20 validated")
        else:
            expect(page.get_by_text("Dismissed “")).to_be_visible()
        people.append(hands)
    people[1].page.goto(f"{desk}/review?standing=disputed")
    expect(people[1].page.get_by_text("in view")).to_contain_text("1 disputed")
    hold("review twenty cases by key", people[0])
    hold("dispute a colleague's verdict", people[1])


def test_two_runs_are_compared_to_the_worst_flip(opened: Open, desk: str) -> None:
    page = opened(f"{desk}/benchmarks")
    hands = hands_of(page)
    hands.click(
        page.get_by_role("row").filter(has_text="openai/hasty").get_by_role("link", name=re.compile("^(Not|Wo)"))
    )
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("button", name="refunds").first).to_be_visible()
    hands.press("n")
    expect(page.get_by_role("dialog").get_by_text("I do not know.").first).to_be_visible()
    box = page.get_by_role("dialog").bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= page.evaluate("innerWidth")
    hold("decide between two runs, read the worst flip side by side", hands)


def test_an_empty_workspace_gets_its_first_golden_case_without_a_terminal(
    opened: Open, built_app: None, tmp_path: Path
) -> None:
    with served(tmp_path) as url:
        page = opened(url)
        hands = hands_of(page)
        hands.click(page.get_by_role("button", name="Use sample data"))
        hands.click(page.get_by_role("link", name="Golden, unconfirmed"))
        hands.click(page.get_by_role("list", name="Cases").get_by_role("link").first)
        hands.click(page.get_by_role("link", name="Review it"))
        hands.click(page.get_by_role("button", name="Approve", exact=True))
        expect(page.get_by_text("in view")).to_contain_text("1 validated")
        hold("from an empty workspace to a first golden case that a person confirmed", hands)
        page.context.close()


def test_the_slowest_traces_of_the_dearest_model(opened: Open, desk: str) -> None:
    page = opened(f"{desk}/?measure=cost")
    hands = hands_of(page)
    hands.click(page.get_by_role("link", name=re.compile("^slow-chat-9, Latency, p95")))
    expect(page.get_by_role("list", name="Filters that are set")).to_contain_text("slow-chat-9")
    hands.click(page.get_by_role("list", name="Traces").get_by_role("link").first)
    expect(page.get_by_role("tab", name="Spans")).to_be_visible()
    hold("the slowest traces of the dearest model", hands)


def test_a_word_inside_chinese_text_is_looked_for(opened: Open, desk: str) -> None:
    page = opened(f"{desk}/traces")
    hands = hands_of(page)
    hands.press("/")
    hands.write(page.get_by_label("Search traces"), "订阅")
    expect(page.get_by_text("End of the list: 1 trace")).to_be_visible()
    expect(page.get_by_role("list", name="Traces").locator("mark").first).to_have_text("订阅")
    hands.click(page.get_by_role("list", name="Traces").get_by_role("link").first)
    expect(page.get_by_text("在设置里。").last).to_be_visible()
    hold("a word inside Chinese text is looked for and its trace read", hands)


def test_many_failed_traces_are_tagged_and_it_is_taken_back(opened: Open, desk: str) -> None:
    page = opened(f"{desk}/traces?status=failed")
    hands = hands_of(page)
    expect(page.get_by_text("End of the list")).to_be_visible()
    hands.press("a")
    bulk = page.get_by_role("region", name="Chosen traces")
    hands.click(bulk.get_by_role("button", name="Tag…"))
    hands.write(page.get_by_role("textbox", name="Tag"), "outage")
    hands.press("Enter")
    expect(bulk).to_contain_text("Tagged")
    hands.click(bulk.get_by_role("button", name="Undo"))
    expect(bulk).to_contain_text("Took the tags of")
    hold("all failed traces are tagged, and it is taken back", hands)


def test_why_a_trace_is_not_golden_and_a_button_changes_it(opened: Open, desk: str) -> None:
    page = opened(f"{desk}/traces/quiet")
    hands = hands_of(page)
    why = page.get_by_role("region", name="Why this is, or is not, golden")
    expect(why).to_contain_text("Not in the dataset")
    hands.click(why.get_by_role("button", name=re.compile("^Bad: a failure")))
    expect(why).to_contain_text("Failure")
    hands.click(why.get_by_role("button", name="Undo"))
    expect(why).to_contain_text("Not in the dataset")
    hold("why a trace is not golden; change it and take it back", hands)


def test_cases_are_imported_merged_as_repeats_and_exported(opened: Open, desk: str, tmp_path: Path) -> None:
    file = tmp_path / "faq.jsonl"
    file.write_text(CASES)
    page = opened(f"{desk}/cases?dataset=faq")
    hands = hands_of(page)
    hands.click(page.get_by_role("button", name="Import…"))
    hands.choose_file(page.locator("input[type=file]").last, file)
    expect(page.get_by_text("3 records stored").first).to_be_visible()
    hands.press("Escape")
    rows = page.get_by_role("list", name="Cases").get_by_role("listitem")
    expect(rows).to_have_count(3)
    hands.press("a")
    bar = page.get_by_role("region", name="Chosen cases")
    hands.click(bar.get_by_role("button", name="Merge repeats"))
    expect(bar).to_contain_text("Merged 2 repeats.")
    expect(rows).to_have_count(1)
    hands.click(bar.get_by_role("button", name="Undo"))
    expect(rows).to_have_count(3)
    hands.click(page.get_by_role("button", name="Export…"))
    with page.expect_download() as download:
        hands.click(page.get_by_role("menuitem", name="case-jsonl"))
    assert download.value.path().read_text().count("\n") == 3
    hold("cases are imported, merged as repeats, brought back and exported", hands)


def test_a_recorded_conversation_is_played_again(opened: Open, desk: str) -> None:
    page = opened(f"{desk}/cases/agents/flight")
    hands = hands_of(page)
    hands.click(page.get_by_role("link", name="Open in replay"))
    hands.write(page.get_by_role("textbox", name="Model").or_(page.get_by_label("Model")).first, "openai/hasty")
    hands.press("Enter")
    expect(page.get_by_text("The replay completed.")).to_be_visible()
    expect(page.get_by_label("Trajectory beside the record")).to_contain_text("not called")
    hold("a recorded conversation is played again with another model", hands)


def test_a_trace_is_opened_in_replay_by_key(opened: Open, desk: str) -> None:
    page = opened(f"{desk}/traces/quiet")
    expect(page.get_by_role("button", name="Open in replay")).to_be_visible()
    page.keyboard.press("p")
    expect(page.get_by_role("heading", name="Replay", level=1)).to_be_visible()
    expect(page.get_by_role("group", name="Question")).to_contain_text("Do you deliver on Sunday?")


def test_the_docs_count_these_tasks_and_none_takes_more_than_before() -> None:
    source = Path(__file__).read_text(encoding="utf-8")
    counted = documented()
    assert set(counted) == set(re.findall(r'\bhold\("([^"]+)"', source))
    assert sum(counted["find yesterday's failures about a subject, make five cases"]) <= 12
    worse = [task for task, before in documented_before().items() if sum(counted[task]) > before]
    assert worse == []


def test_each_row_beside_other_tools_names_the_tests_that_do_it() -> None:
    rows = DOCS.read_text(encoding="utf-8").partition("| | Evergold |")[2].partition("\n\n")[0].splitlines()[2:]
    named = {name for row in rows for name in row.strip("| ").rpartition("|")[2].split(",")}
    assert len(rows) >= 10
    assert [name for name in named if not (Path(__file__).parent / f"{name.strip()}.py").is_file()] == []
