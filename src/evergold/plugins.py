"""Find plug-ins by name through entry points, and call those of other packages with a time limit.

Built-in plug-ins are registered in the same way. A call that does not return is left behind in its thread, and that
plug-in is not called again until the process is restarted. One that cannot be made is left out wherever nobody named it, and
remembered with the reason (`faults`): a package that is broken must not stop what does not need it.
"""

import inspect
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from evergold.errors import BadInput, EvergoldError, NotFound, describe_unknown

SHOWN = 300  # characters of what a plug-in was given, in a message
# What a plug-in of each group cannot be used without; looked at when one of another package is made.
MEMBERS: dict[str, tuple[str, ...]] = {
    "sources": ("accepts", "read"),
    "flow_sources": ("count", "flows"),
    "redactors": ("redact",),
    "detectors": (),
    "taggers": ("tags",),
    "metrics": ("version",),
    "checks": ("name", "version", "check"),
    "judges": ("identity", "ask"),
    "targets": ("identity", "attempt"),
    "retrievers": ("retrieve",),
    "writers": ("identity", "label", "ideas", "write", "rewrite"),
    "formats": ("suffix", "accepts", "write", "read"),
}
GROUPS = tuple(MEMBERS)


@cache
def _read_entry_points() -> Any:
    """Read the entry points of every package, once: each look reads a file of each package."""
    return entry_points()


@cache
def _entry_points(group: str) -> dict[str, EntryPoint]:
    if group not in GROUPS:
        raise BadInput(describe_unknown("plug-in group", group, GROUPS))
    results: dict[str, EntryPoint] = {}
    for point in _read_entry_points().select(group=f"evergold.{group}"):
        other = results.setdefault(point.name, point)
        # The same package may be visible twice (installed, and as a source tree); only different code is a conflict.
        if other.value != point.value:
            used, unused = sorted((other, point), key=_is_of_others)
            results[point.name] = used
            note_fault(group, point.name, f"{unused.value} is not used: {used.value} has the same name; rename one")
    return results


def _is_of_others(point: EntryPoint) -> bool:
    """Whether an entry point belongs to another package."""
    return point.value.partition(":")[0].partition(".")[0] != __name__.partition(".")[0]


def foreign_names(group: str) -> tuple[str, ...]:
    """List the names of a group that other packages bring."""
    return tuple(sorted(name for name, point in _entry_points(group).items() if _is_of_others(point)))


def package_of(group: str, name: str) -> str:
    """Name the package that brings a plug-in."""
    point = _entry_points(group).get(name)
    return point.dist.name if point is not None and point.dist is not None else "unknown"


_faults: dict[tuple[str, str], str] = {}
_failed: Counter[tuple[str, str]] = Counter()
_log = logging.getLogger("evergold.plugins")


def note_fault(group: str, name: str, reason: str) -> None:
    """Remember and count that a plug-in could not be made or used; the first time it is logged too."""
    if _faults.get((group, name)) != reason:
        _log.warning("%s %s is left out: %s", _singular(group), name, reason)
    _faults[group, name] = reason
    _failed[group, name] += 1


def faults() -> dict[tuple[str, str], tuple[str, int]]:
    """Say of plug-ins that could not be made or used in this process why (the last reason), and how often, by group and name."""
    return {key: (reason, _failed[key]) for key, reason in _faults.items()}


def _singular(group: str) -> str:
    return group.replace("_", " ").removesuffix("s")


def names(group: str) -> tuple[str, ...]:
    """List the installed names of a group, sorted."""
    return tuple(sorted(_entry_points(group)))


def factory(group: str, name: str) -> Any:
    """Return the class or function that a name stands for."""
    points = _entry_points(group)
    if name not in points:
        raise NotFound(describe_unknown(_singular(group), name, tuple(points)))
    try:
        return points[name].load()
    except Exception as problem:  # a module may raise anything while it is imported
        what = f"{'' if isinstance(problem, ImportError) else f'{type(problem).__name__}: '}{problem}"
        raise BadInput(
            f"plug-in {name!r} of group {group!r} cannot be loaded: {what}; install what it needs, or mend it"
        ) from problem


def load(group: str, name: str, *args: Any, **params: Any) -> Any:
    """Make the plug-in. Whatever its factory raises, and what it lacks, is bad input: the plug-in's fault, not ours."""
    make = factory(group, name)
    try:
        made = make(*args, **params)
        missing = [member for member in MEMBERS[group] if is_foreign(made) and not hasattr(made, member)]
    except EvergoldError:
        raise
    except Exception as problem:
        shown = {key: value for key, value in params.items() if key != "settings"}
        why = f"does not take {shown!r}"[:SHOWN] if shown else "cannot be made"
        what = f"{type(problem).__name__}: {problem}"
        raise BadInput(f"{_singular(group)} {name!r} {why}: {what}") from problem
    if missing:
        raise BadInput(f"{_singular(group)} {name!r} cannot be used: it has no {', '.join(missing)}")
    return made


def load_with(group: str, name: str, settings: Any) -> Any:
    """Make a plug-in whose factory takes the settings, or nothing."""
    try:
        parameters = inspect.signature(factory(group, name)).parameters
    except (TypeError, ValueError):  # a class of C has no signature
        parameters = {}  # type: ignore[assignment]
    if "settings" in parameters:
        return load(group, name, settings=settings)
    needed = [one for one in parameters.values() if one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD]
    return load(group, name, *([settings] if needed else []))


def load_all(group: str, wanted: Iterable[str], make: Callable[[str], Any] | None = None) -> dict[str, Any]:
    """Make plug-ins by name. One that cannot be made is left out, logged and remembered: nobody asked for it by its name."""
    results = {}
    for name in wanted:
        try:
            results[name] = load(group, name) if make is None else make(name)
        except EvergoldError as problem:
            note_fault(group, name, problem.message)
    return results


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
    try:
        jobs = _idle.pop()
    except IndexError:
        jobs = SimpleQueue()
        threading.Thread(target=_serve, args=(jobs,), name="evergold-plugin", daemon=True).start()
    answers = SimpleQueue[tuple[Any, BaseException | None]]()
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


def _serve(jobs: SimpleQueue[Job]) -> None:
    while True:
        call, answers = jobs.get()
        try:
            answers.put((call(), None))
        except BaseException as problem:
            answers.put((None, problem))


def try_call(group: str, name: str, call: Callable[[], T], otherwise: T) -> T:
    """Give what a plug-in returns; what one of another package raises is noted as its fault, and `otherwise` given."""
    if name not in foreign_names(group):
        return call()
    try:
        return call_within(PLUGIN_SECONDS, f"{_singular(group)} {name}", call)
    except EvergoldError:
        raise
    except Exception as problem:
        note_fault(group, name, f"{type(problem).__name__}: {problem}")
        return otherwise


@contextmanager
def name_culprit(group: str, name: str) -> Iterator[None]:
    """Turn what a plug-in of another package raises into an error that names it, and note its fault."""
    try:
        yield
    except EvergoldError:
        raise
    except Exception as problem:
        if name not in foreign_names(group):
            raise
        note_fault(group, name, f"{type(problem).__name__}: {problem}")
        raise BadInput(f"the {_singular(group)} {name!r} failed: {type(problem).__name__}: {problem}") from problem
