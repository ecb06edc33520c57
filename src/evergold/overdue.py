"""Calls code of plug-ins with a deadline. What does not return is left behind in its thread, and not called again."""

import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")
Job = tuple[Callable[[], Any], SimpleQueue[tuple[Any, BaseException | None]]]

PLUGIN_SECONDS = 5.0  # for one call of a plug-in; those who wait for the database wait ten


class Overdue(Exception):
    """A call did not return in time, or is not made because an earlier one of that name did not."""


_hanging: dict[str, float] = {}  # name: the seconds that it was given
_idle: list[SimpleQueue[Job]] = []  # threads that wait for a call


def hanging() -> tuple[str, ...]:
    """Name what did not return in this process and is left out until it is started again."""
    return tuple(sorted(_hanging))


def call_within(seconds: float, name: str, call: Callable[[], T]) -> T:
    """Give what `call` returns or raises. After so many seconds it is `Overdue`, and so is every later call of that name."""
    if name in _hanging:
        raise Overdue(f"{name} did not return within {_hanging[name]:g} s before; mend it and start again")
    jobs, answers = _thread(), SimpleQueue[tuple[Any, BaseException | None]]()
    jobs.put((call, answers))
    try:
        value, problem = answers.get(timeout=seconds)
    except Empty as late:  # that thread is lost: nobody gives it another call
        _hanging[name] = seconds
        raise Overdue(f"{name} did not return within {seconds:g} s; it is left out until the next start") from late
    # Threads are reused: starting one for every call of a plug-in would cost more than most calls.
    _idle.append(jobs)
    if problem is not None:
        raise problem
    return value  # type: ignore[no-any-return]


def _thread() -> SimpleQueue[Job]:
    """Give the queue of a thread that waits; begin one where none does."""
    try:
        return _idle.pop()
    except IndexError:
        jobs: SimpleQueue[Job] = SimpleQueue()
        threading.Thread(target=_serve, args=(jobs,), name="evergold-plugin", daemon=True).start()
        return jobs


def _serve(jobs: SimpleQueue[Job]) -> None:
    while True:
        call, answers = jobs.get()
        try:
            answers.put((call(), None))
        except BaseException as problem:
            answers.put((None, problem))
