"""Take results of parallel work in order, with a bound on how far the workers run ahead."""

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from typing import TypeVar

from evergold.errors import Unavailable

Item = TypeVar("Item")
Result = TypeVar("Result")


def ahead(items: Iterator[Item], most: int) -> Generator[Item]:
    """The items, made by a thread that is up to `most` of them ahead."""
    with ThreadPoolExecutor(1) as thread:
        # `None` marks the end: `next` gives it where the items are exhausted.
        waiting = deque(thread.submit(next, items, None) for _ in range(most))
        try:
            while (item := waiting.popleft().result()) is not None:
                waiting.append(thread.submit(next, items, None))
                yield item
        finally:
            for future in waiting:
                future.cancel()


def in_order(
    executor: Executor, work: Callable[[Item], Result], errands: Iterable[Item], window: int
) -> Iterator[Result]:
    """The results in order, with at most `window` of them under way or waiting to be taken."""
    waiting: deque[Future[Result]] = deque()
    try:
        for errand in errands:
            waiting.append(executor.submit(work, errand))
            if len(waiting) >= window:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    # A worker killed by the kernel breaks the whole pool; the message names the usual cause.
    except BrokenExecutor as problem:
        raise Unavailable(
            "a worker ended unexpectedly (out of memory?); no file was changed; try --jobs 1"
        ) from problem
    finally:
        for future in waiting:
            future.cancel()
