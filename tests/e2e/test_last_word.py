"""People's last word in the page: a score is withdrawn and given again, and a decided case shows what speaks against it."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from evergold.model.review import CaseKey, Decision, ReviewVerdict
from evergold.model.trace import ScoreLine, ScoreSource
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace
from tests.api.serving import served
from tests.builders import a_score, a_trace

Open = Callable[..., Page]


@pytest.fixture
def doubted(built_app: None, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A server with a case that a reviewer approved before a user disagreed; its address and the case's id."""
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as ws:
        ws.intake.accept([a_trace("t1", scores=(a_score(),))])
        ws.live.curate()
        ((case,), _) = ws.cases.page(CaseFilter(dataset="live"), limit=5)
        decision = Decision(version=case.version, verdict=ReviewVerdict.APPROVE, changes={})
        ws.review.decide(CaseKey(dataset="live", id=case.id), decision, "ana")
        ws.intake.accept([ScoreLine(trace_id="t1", name="thumbs", value=0.0, source=ScoreSource.USER)])
        ws.live.curate()
    with served(tmp_path, EVERGOLD_REVIEW_REVIEWERS="") as url:
        yield url, case.id


def test_a_question_about_a_decided_case_leads_to_the_score_that_raised_it(
    opened: Open, doubted: tuple[str, str]
) -> None:
    url, case_id = doubted
    page = opened(f"{url}/cases/live/{case_id}")
    expect(page.get_by_role("region", name="Needs another look")).to_contain_text("since then:")
    page.get_by_role("link", name="See the scores of its trace").click()
    row = page.get_by_role("row", name="thumbs")
    row.get_by_role("button", name="Withdraw").click()
    expect(page.get_by_text("Withdrew the score thumbs.")).to_be_visible()
    expect(row).to_have_count(0)
    page.get_by_role("button", name="Undo").click()
    expect(row).to_have_count(1)
    page.context.close()


def test_review_shows_the_question(opened: Open, doubted: tuple[str, str]) -> None:
    url, case_id = doubted
    page = opened(f"{url}/review?dataset=live&id={case_id}")
    expect(page.get_by_role("region", name="Needs another look")).to_contain_text("Does the decision still hold?")
    page.context.close()
