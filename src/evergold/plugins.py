"""Find plug-ins by name through entry points, and call those of other packages with a time limit.

Built-in plug-ins are registered in the same way. A call that does not return is left behind in its thread, and that
plug-in is not called again until the process is restarted.
"""

import threading
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from evergold.errors import BadInput, NotFound, unknown

SHOWN = 300  # characters of what a plug-in was given, in a message
GROUPS = (
    "sources",
    "flow_sources",
    "redactors",
    "detectors",
    "taggers",
    "metrics",
    "checks",
    "judges",
    "targets",
    "retrievers",
    "writers",
    "formats",
)


@cache
def _entry_points(group: str) -> dict[str, EntryPoint]:
    if group not in GROUPS:
        raise BadInput(unknown("plug-in group", group, GROUPS))
    results: dict[str, EntryPoint] = {}
    for point in entry_points(group=f"evergold.{group}"):
        other = results.get(point.name)
        # The same package may be visible twice (installed, and as a source tree); only different code is a conflict.
        if other is not None and other.value != point.value:
            raise BadInput(
                f"two plug-ins of group {group!r} are called {point.name!r}: {other.value} and {point.value}; "
                "uninstall one of the packages"
            )
        results[point.name] = point
    return results


def names(group: str) -> tuple[str, ...]:
    """List the installed names of a group, sorted."""
    return tuple(sorted(_entry_points(group)))


def factory(group: str, name: str) -> Any:
    """Return the class or function that a name stands for."""
    points = _entry_points(group)
    if name not in points:
        raise NotFound(unknown(group.replace("_", " ").removesuffix("s"), name, tuple(points)))
    try:
        return points[name].load()
    except ImportError as problem:
        raise BadInput(
            f"plug-in {name!r} of group {group!r} cannot be loaded: {problem}; install what it needs"
        ) from problem


def load(group: str, name: str, **params: Any) -> Any:
    """Make the plug-in with `params`."""
    make = factory(group, name)
    try:
        return make(**params)
    # Whatever the factory makes of its parameters: a plug-in's own checks are bad input, not a defect of ours.
    except (TypeError, ValueError, ArithmeticError, RecursionError, Warning) as problem:
        given = f"{params!r}"[:SHOWN]
        raise BadInput(f"{group.removesuffix('s')} {name!r} does not take {given}: {problem}") from problem


def is_foreign(plugin: object) -> bool:
    """Whether a plug-in comes from another package, so that its calls need a time limit."""
    return type(plugin).__module__.partition(".")[0] != __name__.partition(".")[0]


T = TypeVar("T")
Job = tuple[Callable[[], Any], SimpleQueue[tuple[Any, BaseException | None]]]

PLUGIN_SECONDS = 5.0  # for one call; half of what a request may wait for the database


class PluginTimeout(Exception):
    """A call did not return in time, or was not made because an earlier one of the same name did not."""


_hanging: dict[str, float] = {}  # name: its time limit in seconds
_idle: list[SimpleQueue[Job]] = []  # threads that wait for a call


def hanging_plugins() -> tuple[str, ...]:
    """List the plug-ins that did not return in this process and are skipped until it is restarted."""
    return tuple(sorted(_hanging))


def call_within(seconds: float, name: str, call: Callable[[], T]) -> T:
    """Return the result of `call`, or raise `PluginTimeout` after so many seconds and at every later call of that name."""
    if name in _hanging:
        raise PluginTimeout(f"{name} did not return within {_hanging[name]:g} s before; fix it and restart")
    jobs, answers = _idle_thread(), SimpleQueue[tuple[Any, BaseException | None]]()
    jobs.put((call, answers))
    try:
        value, problem = answers.get(timeout=seconds)
    except Empty as late:  # that thread is lost and gets no other call
        _hanging[name] = seconds
        raise PluginTimeout(f"{name} did not return within {seconds:g} s; it is skipped until the next start") from late
    # Threads are reused: starting one for every call of a plug-in would cost more than most calls.
    _idle.append(jobs)
    if problem is not None:
        raise problem
    return value  # type: ignore[no-any-return]


def _idle_thread() -> SimpleQueue[Job]:
    """Return the queue of an idle thread; start a thread if there is none."""
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
