"""A redactor of another package under a deadline."""

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from evergold import plugins
from evergold.errors import Unavailable
from evergold.redact import fields as bounded
from evergold.redact.fields import BoundedRedactor


class Shouting:
    def redact(self, text: str) -> tuple[str, dict[str, int]]:
        return text.upper(), {"NOISE": 1}


class Hanging:
    def __init__(self) -> None:
        self.free = threading.Event()

    def redact(self, text: str) -> tuple[str, dict[str, int]]:
        self.free.wait()
        return text, {}


class Looking(Shouting):
    def suspicious(self, text: str) -> Iterator[int]:
        yield from (at for at, sign in enumerate(text) if sign == "x")


class Broken:
    def redact(self, text: str) -> tuple[str, dict[str, int]]:
        raise LookupError("no model")


def test_a_redactor_that_returns_is_passed_through() -> None:
    assert BoundedRedactor(Shouting(), "shouting").redact("hi") == ("HI", {"NOISE": 1})


def test_looking_is_offered_only_where_the_redactor_can() -> None:
    look: Any = BoundedRedactor(Looking(), "looking")
    assert list(look.suspicious("axbx")) == [1, 3]
    assert not hasattr(BoundedRedactor(Shouting(), "shouting"), "suspicious")


def test_its_own_error_is_named_and_its_words_are_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plugins, "_faults", {})
    monkeypatch.setattr(plugins, "_failed", Counter())
    told = "nothing was stored, because it cannot be redacted: redactor broken raised LookupError"
    with pytest.raises(Unavailable) as raised:
        BoundedRedactor(Broken(), "broken").redact("hi")
    assert str(raised.value) == told
    assert plugins.faults() == {("redactors", "broken"): ("it raised LookupError", 1)}


def test_one_that_hangs_refuses_this_text_and_every_later_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "PLUGIN_SECONDS", 0.01)
    monkeypatch.setattr(plugins, "_hanging", {})
    hanging = Hanging()
    redactor = BoundedRedactor(hanging, "hanging")
    with pytest.raises(
        Unavailable, match="nothing was stored, because it cannot be redacted: redactor hanging did not"
    ):
        redactor.redact("hi")
    hanging.free.set()
    with pytest.raises(Unavailable, match="before; fix it and restart"):
        redactor.redact("hi")
    assert plugins.hanging_plugins() == ("redactor hanging",)
