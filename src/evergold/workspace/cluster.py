"""The workers of a cluster as the stages use them: parts of work with their results in order, and single calls."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from evergold.settings import Settings
from evergold.spread import Spread

if TYPE_CHECKING:
    from evergold.scale.executors import Workers

Part = TypeVar("Part")
Result = TypeVar("Result")


PARTS_UNDER_WAY = 4  # for each worker: the others go on while one is busy with a long part, whose result comes first


@dataclass(frozen=True)
class SealedPart(Generic[Part]):
    """A part that Dask does not look into: it searches every list and tuple of an argument for tasks, one value at a time."""

    part: Part


@dataclass(frozen=True)
class ClusterSpread:
    """Has parts done by the workers, a few for each of them under way."""

    workers: "Workers"

    def __call__(self, work: Callable[[Part], Result], parts: Iterable[Part], /) -> Iterator[Result]:
        from evergold.build.pace import in_order

        sealed = (SealedPart(part) for part in parts)
        return in_order(self.workers.executor, partial(_do, work), sealed, PARTS_UNDER_WAY * self.workers.count)


def _do(work: Callable[[Part], Result], sealed: SealedPart[Part]) -> Result:
    """Do the work for a part, on a worker."""
    return work(sealed.part)


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
