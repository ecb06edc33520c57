"""A name → a plug-in, through entry points. Built-ins come through the same door as everybody else's."""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

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
def _registered(group: str) -> dict[str, EntryPoint]:
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
    """The names installed here, sorted."""
    return tuple(sorted(_registered(group)))


def factory(group: str, name: str) -> Any:
    """The class or function a name stands for."""
    points = _registered(group)
    if name not in points:
        raise NotFound(unknown(group.replace("_", " ").removesuffix("s"), name, tuple(points)))
    try:
        return points[name].load()
    except ImportError as problem:
        raise BadInput(
            f"plug-in {name!r} of group {group!r} cannot be loaded: {problem}; install what it needs"
        ) from problem


def load(group: str, name: str, **params: Any) -> Any:
    """The plug-in itself, made with `params`."""
    make = factory(group, name)
    try:
        return make(**params)
    # Whatever the factory makes of its parameters: a plug-in's own checks are bad input, not a defect of ours.
    except (TypeError, ValueError, ArithmeticError, RecursionError, Warning) as problem:
        given = f"{params!r}"[:SHOWN]
        raise BadInput(f"{group.removesuffix('s')} {name!r} does not take {given}: {problem}") from problem


def is_foreign(plugin: object) -> bool:
    """Whether a plug-in comes from another package: nobody knows how long a call of it takes."""
    return type(plugin).__module__.partition(".")[0] != __name__.partition(".")[0]
