"""The workers of a cluster as the stages use them: parts of work with their results in order, and single calls."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from evergold.settings import Settings
from evergold.spread import Spread

if TYPE_CHECKING:
    from evergold.scale.executors import Workers

Part = TypeVar("Part")
Result = TypeVar("Result")


@dataclass(frozen=True)
class ClusterSpread:
    """Has parts done by the workers, a few for each of them under way."""

    workers: "Workers"

    def __call__(self, work: Callable[[Part], Result], parts: Iterable[Part], /) -> Iterator[Result]:
        from evergold.build.pace import in_order

        # Two parts for each worker: one is worked on while the next is already there.
        return in_order(self.workers.executor, work, parts, 2 * self.workers.count)


@contextmanager
def workers_of(cluster: str | None) -> "Iterator[Workers | None]":
    """The workers of the cluster at an address, for single calls; None without one."""
    if cluster is None:
        yield None
        return
    # Imported here: most commands have no cluster and should start at once.
    from evergold.scale.executors import open_cluster

    with open_cluster(cluster) as workers:
        yield workers


def settings_to_send(settings: Settings) -> Settings:
    """The settings as workers get them: with the keys of models, without the way into the database and the server."""
    return replace(settings, database_url="", server_token="")


@contextmanager
def spread_over(cluster: str | None) -> Iterator[Spread | None]:
    """Spread work over the cluster at an address; None without one, so that a verb does its work here."""
    with workers_of(cluster) as workers:
        yield ClusterSpread(workers) if workers else None
