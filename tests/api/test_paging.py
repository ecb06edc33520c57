"""Pages of large records: they end early and go on where they ended."""

from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from evergold.api import requests
from evergold.api.requests import AT_ONCE, MOST_CHARACTERS, read_page


class Item(BaseModel):
    number: int
    text: str


def pages(sizes: list[int], asked: list[int]) -> requests.Page[Item]:
    def page(limit: int, before: str | None) -> tuple[list[Item], str | None]:
        asked.append(limit)
        start = int(before or 0)
        items = [Item(number=at, text="x" * sizes[at]) for at in range(start, min(len(sizes), start + limit))]
        return items, str(start + limit) if start + limit < len(sizes) else None

    return page


@given(st.lists(st.sampled_from([0, 10, 1_000, 500_000]), max_size=130), st.integers(1, 120))
def test_every_item_comes_once_in_order(sizes: list[int], limit: int) -> None:
    asked: list[int] = []
    read, cursor = [], None
    while True:
        items, cursor = read_page(pages(sizes, asked), limit, cursor)
        assert len(items) <= limit and (items or not sizes)
        read += [item.number for item in items]
        if cursor is None:
            break
    assert read == list(range(len(sizes)))


def test_small_items_take_two_questions_and_a_usual_page_one() -> None:
    asked: list[int] = []
    assert len(read_page(pages([100] * 600, asked), 500, None)[0]) == 500
    assert asked == [AT_ONCE, 450]
    assert len(read_page(pages([100] * 600, asked), AT_ONCE, None)[0]) == AT_ONCE and len(asked) == 3


def test_large_items_end_a_page_early() -> None:
    items, cursor = read_page(pages([MOST_CHARACTERS // 100] * 600, []), 500, None)
    assert 90 <= len(items) <= 100 and cursor == str(len(items))
