"""The log of calls: answers survive a crash, secrets do not get in, and a damaged log is never guessed at."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from evergold.credentials import learn
from evergold.errors import BadInput, Conflict
from evergold.generate.model_writer import CallLog, request_key


def written(path: Path, *entries: dict[str, Any], fresh: bool = False) -> None:
    async def add() -> None:
        log = CallLog.open(path, fresh=fresh)
        for entry in entries:
            await log.add(entry)
        await log.close()

    asyncio.run(add())


def known(path: Path, key: str) -> dict[str, Any] | None:
    async def read() -> dict[str, Any] | None:
        log = CallLog.open(path)
        entry = log.find(key)
        await log.close()
        return entry

    return asyncio.run(read())


def test_an_answer_is_known_to_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "new" / "calls.jsonl"
    written(path, {"key": "a", "reply": {"output": "é"}}, {"key": "b", "reply": {}})
    entry = known(path, "a")
    assert entry is not None and entry["reply"] == {"output": "é"} and "at" in entry
    assert known(path, "c") is None


def test_a_failed_call_is_kept_for_people_and_asked_again(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    written(path, {"key": "a", "error": "timeout"})
    assert known(path, "a") is None and b"timeout" in path.read_bytes()


def test_the_newest_answer_to_a_request_counts(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    written(path, {"key": "a", "reply": 1}, {"key": "a", "reply": 2})
    entry = known(path, "a")
    assert entry is not None and entry["reply"] == 2


def test_fresh_forgets_the_answers_and_keeps_the_lines(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    written(path, {"key": "a", "reply": 1})
    written(path, {"key": "b", "reply": 2}, fresh=True)
    assert known(path, "a") is None and known(path, "b") is not None
    assert len(path.read_bytes().splitlines()) == 3


@pytest.mark.parametrize("torn", [b'{"key": "b", "re', b"{", b"\xff\xfe", b'{"key": "b", "reply": 1}'])
def test_a_line_that_a_killed_process_left_unfinished_is_taken_away(tmp_path: Path, torn: bytes) -> None:
    path = tmp_path / "calls.jsonl"
    written(path, {"key": "a", "reply": 1})
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    assert known(path, "a") is not None and known(path, "b") is None
    assert path.read_bytes() == whole


@pytest.mark.parametrize("line", [b"{broken", b"5", b"[]", b'{"reply": 1}', b'{"key": 7}', b""])
def test_a_damaged_line_in_the_middle_is_named_and_nothing_is_lost(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "calls.jsonl"
    written(path, {"key": "a", "reply": 1})
    damaged = path.read_bytes() + line + b"\n" + b'{"key": "z", "reply": 1}\n'
    path.write_bytes(damaged)
    with pytest.raises(BadInput, match=r"is damaged at byte \d+.*move it away"):
        known(path, "a")
    assert path.read_bytes() == damaged


def test_a_secret_is_replaced_wherever_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    learn("sk-1234")
    written(path, {"key": "a", "reply": {"sk-1234": ["Bearer sk-1234"]}})
    line = json.loads(path.read_text())
    assert line["reply"] == {"[SECRET]": ["Bearer [SECRET]"]}


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    async def both() -> None:
        log = CallLog.open(tmp_path / "calls.jsonl")
        with pytest.raises(Conflict, match="another process generates into"):
            CallLog.open(tmp_path / "calls.jsonl")
        await log.close()

    asyncio.run(both())


def test_a_request_is_the_same_for_the_same_target_and_words() -> None:
    one = request_key("openai/m", {"messages": [{"role": "user", "content": "a"}], "temperature": 0})
    assert one == request_key("openai/m", {"temperature": 0, "messages": [{"content": "a", "role": "user"}]})
    assert one != request_key("openai/n", {"messages": [{"role": "user", "content": "a"}], "temperature": 0})
    assert one != request_key("openai/m", {"messages": [{"role": "user", "content": "b"}], "temperature": 0})
