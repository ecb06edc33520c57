"""Calls of plug-ins with a deadline."""

import threading

import pytest

from evergold.plugins import PluginTimeout, call_within, hanging_plugins
from tests.patience import PATIENCE


def test_gives_what_a_call_returns_and_raises_what_it_raises() -> None:
    assert call_within(PATIENCE, "adds", lambda: 1 + 1) == 2
    with pytest.raises(ZeroDivisionError):
        call_within(PATIENCE, "divides", lambda: 1 // 0)
    assert not {"adds", "divides"} & set(hanging_plugins())


def test_what_hangs_is_named_and_not_called_again() -> None:
    release, calls = threading.Event(), []

    def hang() -> bool:
        calls.append(1)
        return release.wait(PATIENCE)

    for _ in range(3):
        with pytest.raises(PluginTimeout, match=r"sleeper did not return within 0\.01 s"):
            call_within(0.01, "sleeper", hang)
    release.set()
    assert calls == [1] and "sleeper" in hanging_plugins()


def test_calls_use_one_thread_after_the_other_again() -> None:
    first, second = (call_within(PATIENCE, "names", threading.get_ident) for _ in range(2))
    assert first == second
    assert call_within(PATIENCE, "outer", lambda: call_within(PATIENCE, "inner", threading.get_ident)) != first
