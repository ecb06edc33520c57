"""Tools of an app: they run as they are, and under a replay they are answered."""

import asyncio
from typing import Any

import pytest

from evergold import replay
from evergold.replay import ToolFailed, ToolReply


class Recorded:
    """A session that answers from a table and remembers what it was asked."""

    def __init__(self, **replies: ToolReply) -> None:
        self.replies = replies
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def ask(self, name: str, args: dict[str, Any]) -> ToolReply:
        self.asked.append((name, args))
        return self.replies[name]

    async def ask_async(self, name: str, args: dict[str, Any]) -> ToolReply:
        return self.ask(name, args)

    def url(self) -> str:
        return "http://replay"


@pytest.fixture
def under(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.delenv(replay.URL_VARIABLE, raising=False)

    def set_session(**replies: Any) -> Recorded:
        session = Recorded(
            **{name: one if isinstance(one, ToolReply) else ToolReply(one) for name, one in replies.items()}
        )
        tokens.append(replay.current.set(session))
        return session

    tokens: list[Any] = []
    yield set_session
    for token in reversed(tokens):
        replay.current.reset(token)


@replay.tool
def find(id: str, *more: int, limit: int = 5, **rest: Any) -> dict[str, Any]:
    return {"id": id, "more": more, "limit": limit, "rest": rest}


@replay.tool(name="shout")
def loud(text: str) -> str:
    return text.upper()


@replay.tool
async def later(id: str) -> Any:
    return id * 2


class Shop:
    @replay.tool
    def price(self, item: str) -> Any:
        return item


def test_outside_of_a_replay_a_tool_runs_as_it_is(under: Any) -> None:
    assert find("1", 2, limit=3, x=4) == {"id": "1", "more": (2,), "limit": 3, "rest": {"x": 4}}
    assert (loud("a"), asyncio.run(later("a")), Shop().price("a"), replay.active()) == ("A", "aa", "a", False)
    with pytest.raises(RuntimeError, match="no replay is under way"):
        replay.call("find", {})


def test_under_a_replay_arguments_are_sent_by_name_as_given(under: Any) -> None:
    session = under(find="1", price="2")
    find("1", 2, 3, x=4)
    find(id="1")
    Shop().price("boots")
    assert session.asked == [
        ("find", {"id": "1", "more": [2, 3], "x": 4}),
        ("find", {"id": "1"}),
        ("price", {"item": "boots"}),
    ]


@pytest.mark.parametrize(
    ("recorded", "value"), [('{"a": 1}', {"a": 1}), ("plain", "plain"), ({"a": 1}, {"a": 1}), (5, 5), ("5", 5)]
)
def test_a_recorded_result_is_read_as_json_where_it_is_json(under: Any, recorded: Any, value: Any) -> None:
    under(find=recorded, later=recorded)
    assert find("1") == value and asyncio.run(later("1")) == value


@pytest.mark.parametrize(("recorded", "text"), [('{"a": 1}', '{"a": 1}'), ({"a": 1}, '{"a": 1}'), ("5", "5")])
def test_a_tool_that_returns_text_gets_text(under: Any, recorded: Any, text: str) -> None:
    under(shout=recorded)
    assert loud("x") == text


def test_a_call_that_failed_in_the_record_raises(under: Any) -> None:
    under(find=ToolReply("not found", failed=True))
    with pytest.raises(ToolFailed, match="find: not found"):
        find("1")
    with pytest.raises(ToolFailed):
        replay.call("find", {"id": "1"})


def test_a_replay_may_be_asked_by_name(under: Any) -> None:
    session = under(anything="5")
    assert replay.call("anything") == "5" and asyncio.run(replay.call_async("anything", {"a": 1})) == "5"
    assert session.asked == [("anything", {}), ("anything", {"a": 1})] and replay.active()


def test_a_session_by_address_ends_with_its_block(under: Any) -> None:
    with replay.session("http://127.0.0.1:9/tools"):
        assert replay.active()
    assert not replay.active()


def test_a_command_app_finds_the_address_in_its_environment(under: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(replay.URL_VARIABLE, "http://127.0.0.1:9/tools")
    assert replay.active()
