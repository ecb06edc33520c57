"""Message-level agreement with what real packages export, each in its own convention."""

import json
from pathlib import Path

from tests.conversation.recorded_exchanges import Agreement, Plain, agreement, exchanges, read_from, said_in
from tests.rows import each_row

FILES = exchanges()


@each_row("path", FILES, ids=lambda path: path.stem)
def test_every_message_is_in_the_conversation(path: Path) -> None:
    assert read_from(path) == said_in(path)


def test_a_message_that_was_not_said_counts_against_the_agreement() -> None:
    said: list[Plain] = [("user", "a", []), ("assistant", "b", []), ("user", "c", [])]
    assert agreement(said, said) == Agreement(3, 3)
    assert agreement(said, said[::2]) == Agreement(2, 3)
    assert agreement(said, [*said, ("user", "d", [])]) == Agreement(3, 4)
    assert agreement(said, said[::-1]) == Agreement(1, 3)
    assert agreement(said, []) == Agreement(0, 3)


def test_the_files_hold_nothing_but_the_exchange() -> None:
    assert len(FILES) >= 30
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert json.loads(text)["resourceSpans"][0]["scopeSpans"][0]["spans"]
        assert "127.0.0.1" not in text and "/work/" not in text and "/home/" not in text
