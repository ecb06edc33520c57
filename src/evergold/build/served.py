"""Builds that a server makes for requests, each in a thread of its own.

A large dataset takes minutes to freeze. Neither the answer nor the end of the server waits for it: a request waits for some
seconds and is then answered with where to look, and a server that ends leaves the build out whole. Files and rows of a build
appear together, so nothing of one that was left out is ever seen.
"""

import threading
import time
from concurrent.futures import Future, wait
from contextlib import ExitStack
from dataclasses import dataclass, field

from evergold.build.snapshot import SnapshotSpec
from evergold.build.versions import Builds
from evergold.errors import Conflict, NotFound, Unavailable
from evergold.model.build import Build

MOST_AT_ONCE = 4  # each holds the cases of its dataset in memory
KEPT_OUTCOMES = 100  # of builds whose request was answered before they ended
REPEAT_SECONDS = 60.0  # for the same request to come again and learn the outcome; later it asks for a new build
STOP_SECONDS = 1.0  # for builds under way to see that the server ends; the process then ends without them


@dataclass
class BuildJob:
    """A build under way, or one that ended after its request was answered."""

    spec: SnapshotSpec
    done: Future[Build] = field(default_factory=Future)
    ended: float = float("inf")

    @property
    def key(self) -> tuple[str, str]:
        return self.spec.dataset, self.spec.version


class ServedBuilds:
    """Freezes datasets for requests, with a bound on how long a request waits and on how many run at once."""

    def __init__(self, builds: Builds) -> None:
        self._builds = builds
        self._jobs: dict[tuple[str, str], BuildJob] = {}
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(MOST_AT_ONCE)
        self._stopping = threading.Event()
        self._threads: set[threading.Thread] = set()

    def freeze(self, spec: SnapshotSpec, seconds: float) -> Build | None:
        """Freeze a dataset. None when that takes longer; the build then goes on, and the same call waits for it again."""
        spec.require_sane()
        until = time.monotonic() + seconds
        with self._lock:
            job = self._find_job(spec)
        # Waiting for a slot happens outside the lock, or a full house would block every other request.
        job = job or self._start(spec, until)
        if not wait([job.done], max(0.0, until - time.monotonic())).done:
            return None  # the outcome is kept for whoever looks
        with self._lock:
            self._forget(job)
        return job.done.result()

    def get(self, dataset: str, version: str) -> Build:
        """Return a build; the error says when it is still being made, or why it could not be made."""
        with self._lock:
            job = self._jobs.get((dataset, version))
        if job is not None and not job.done.done():
            raise NotFound(f"{version} of {dataset!r} is being built; look again in a few seconds")
        if job is not None and (problem := job.done.exception()) is not None:
            raise problem
        return self._builds.get(dataset, version)

    def stop(self) -> None:
        """Give builds under way a moment to end between two cases. Those that do not are left out with the process."""
        self._stopping.set()
        until = time.monotonic() + STOP_SECONDS
        for thread in tuple(self._threads):
            thread.join(max(0.0, until - time.monotonic()))

    def _find_job(self, spec: SnapshotSpec) -> BuildJob | None:
        """Return the job that makes this very build, or made it a moment ago. The caller holds the lock."""
        job = self._jobs.get((spec.dataset, spec.version))
        if job is None or time.monotonic() - job.ended > REPEAT_SECONDS:
            return None
        if job.spec == spec:
            return job
        if job.done.done():
            return None
        raise Conflict(
            f"{spec.version} of {spec.dataset!r} is being built with other options; wait for it, or name another version"
        )

    def _start(self, spec: SnapshotSpec, until: float) -> BuildJob:
        if not self._slots.acquire(timeout=max(0.0, until - time.monotonic())):
            raise Unavailable(f"{MOST_AT_ONCE} builds are under way; try again when one of them is done")
        # The slot goes back on every way out but the one on which a thread has taken it over.
        with ExitStack() as slot, self._lock:
            slot.callback(self._slots.release)
            job = self._find_job(spec)  # another request may have begun it meanwhile
            if job is None:
                job = self._jobs[spec.dataset, spec.version] = BuildJob(spec)
                ended = sorted((job for job in self._jobs.values() if job.done.done()), key=lambda job: job.ended)
                for oldest in ended[: max(0, len(ended) - KEPT_OUTCOMES)]:
                    self._forget(oldest)
                thread = threading.Thread(target=self._make, args=(job,), name="evergold-build", daemon=True)
                self._threads.add(thread)
                thread.start()
                slot.pop_all()  # the thread gives it back
        return job

    def _make(self, job: BuildJob) -> None:
        try:
            build = self._builds.freeze(job.spec, self._require_serving)
            job.ended = time.monotonic()
            job.done.set_result(build)
        # Everything is caught: an error that nobody sets would leave the request waiting until its limit.
        except BaseException as problem:
            job.ended = time.monotonic()
            job.done.set_exception(problem)
        finally:
            self._slots.release()
            with self._lock:
                self._threads.discard(threading.current_thread())

    def _require_serving(self) -> None:
        if self._stopping.is_set():
            raise Unavailable("the server is ending; nothing of the build was written; ask again when it is back")

    def _forget(self, job: BuildJob) -> None:
        if self._jobs.get(job.key) is job:
            del self._jobs[job.key]
