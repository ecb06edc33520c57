"""Searches at and beyond their limits, in both databases: the largest allowed is answered, more is refused with what to do."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evergold.api.app import create_app
from evergold.errors import BadInput
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.store.text_index import LONGEST_WORD
from evergold.store.trace.filter import TraceFilter
from evergold.store.trace.search import LONGEST_SEARCH, MOST_WORDS
from evergold.workspace import Workspace
from tests.rows import each_row

LARGEST = {
    "words": " ".join(f"w{number}" for number in range(MOST_WORDS)),
    "parts of words": "-".join("ab" for _ in range(MOST_WORDS)),
    "pieces": " ".join(chr(0x4E00 + number) * 3 for number in range(MOST_WORDS)),
    "one run": " ".join(["返金" * (LONGEST_WORD // 2)] * 3),
    "a word of four bytes a letter": "\U00010400" * LONGEST_WORD,
    "signs": '"*&|!:()' * (LONGEST_SEARCH // 8),
}
BEYOND = {
    "words": LARGEST["words"] + " more",
    "parts of words": LARGEST["parts of words"] + ".more",
    "pieces": LARGEST["pieces"] + " 返金を",
    "a run": "返" * (LONGEST_WORD + 1),
    "a word": "a" * (LONGEST_WORD + 1),
    "characters": " " * LONGEST_SEARCH + "a",
}


@pytest.fixture
def workspace(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as opened:
        yield opened


def test_the_largest_searches_are_answered(workspace: Workspace) -> None:
    for search in LARGEST.values():
        assert workspace.intake.page(TraceFilter(search=search), limit=5) == ([], None)
        assert workspace.intake.facets(TraceFilter(search=search)).total == 0
        assert not list(workspace.cases.page(CaseFilter(search=search), limit=5)[0])


@each_row("shape", [TraceFilter, CaseFilter])
@each_row("search", BEYOND.values(), ids=BEYOND)
def test_a_larger_search_is_refused(shape: Callable[..., Any], search: str) -> None:
    with pytest.raises(BadInput, match=r"the search has .*at most .*search for a part of it"):
        shape(search=search)


def test_over_rest_it_is_a_400_with_one_line(tmp_path_factory: pytest.TempPathFactory) -> None:
    settings = Settings(home=tmp_path_factory.mktemp("home"))
    with TestClient(create_app(settings), base_url="http://127.0.0.1") as client:
        for path in ("traces", "traces/facets", "cases", "cases/facets", "cases/export"):
            reply = client.get(f"/api/v1/{path}", params={"search": BEYOND["words"]})
            assert reply.status_code == 400, path
            assert f"at most {MOST_WORDS} are looked for" in reply.json()["error"], path
