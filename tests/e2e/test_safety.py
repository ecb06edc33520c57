"""Texts come from strangers: nothing in them runs or is fetched, and nothing unseen in them passes for another text."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from evergold.model.case import Case, Context, LineRange, Provenance, RankedPath
from evergold.model.tool_calls import ToolCall
from evergold.model.trace import Score, Span, Trace
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import served

pytestmark = pytest.mark.slow

HIDDEN = r"/[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/"
BAD = "\u202e\u2066<img src=x onerror=\"window.hacked='img'\"><script>window.hacked='script'</script>"
SENT = quote(BAD, safe="")
LINK = "javascript:window.hacked='link'"


def poison(home: Path) -> None:
    now = datetime.now(UTC)
    trace = Trace(
        id="bad",
        session_id=BAD,
        user_id=BAD,
        name=BAD,
        input=BAD,
        output=f"{BAD} {LINK}",
        started_at=now,
        ended_at=now,
        tags=(BAD,),
        metadata={"model": BAD, BAD: BAD},
        spans=(
            Span(id=BAD, name=BAD, kind=BAD, input=BAD, output=BAD, metadata={BAD: BAD}, started_at=now, ended_at=now),
        ),
        scores=(Score(name=BAD, value=0.0, comment=BAD),),
    )
    case = Case(
        id="bad",
        name=BAD,
        input=BAD,
        output=BAD,
        expected=BAD,
        contexts=(Context(text=BAD, source=LINK),),
        tool_calls=(ToolCall(name=BAD, args={BAD: BAD}),),
        paths=(RankedPath(path=BAD, sources=(BAD,)),),
        ranges=(LineRange(path=BAD, start=1, end=2, sources=(BAD,)),),
        tags=(BAD,),
        metadata={BAD: BAD},
        provenance=Provenance(source=BAD, trace_id="bad", document=LINK),
    )
    with Workspace.open(Settings(home=home)) as workspace:
        workspace.intake.accept([trace])
        workspace.live.curate()
        workspace.cases.put([case])


def test_nothing_that_came_in_runs(opened: Callable[..., Page], built_app: None, tmp_path: Path) -> None:
    poison(tmp_path / ".evergold")
    with served(tmp_path) as address:
        page = opened(address, expected="404")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        paths = (
            "/",
            "/traces",
            "/traces/bad",
            "/cases",
            "/cases/live/bad",
            "/review?dataset=live&id=bad",
            "/datasets/live",
        )
        for path in (*paths, f"/cases?q={SENT}", f"/traces/{SENT}"):
            page.goto(address + path)
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            page.wait_for_load_state("networkidle")
            for tab in page.get_by_role("tab").all():
                tab.click()
            assert page.evaluate("window.hacked") is None, f"a script ran on {path}"
            assert page.locator("img[src=x]").count() == 0
            assert page.locator("a[href^='javascript:']").count() == 0
            unseen = page.evaluate(f"{HIDDEN}.test(document.querySelector('main').innerText)")
            assert not unseen, f"a character that nobody sees stands on {path}"
        assert [url for url in asked if not url.startswith((address, "data:"))] == []
        page.context.close()
