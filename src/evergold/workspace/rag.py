"""What needs no store: RAG splits from an offline file, and what can be asked of any build on disk."""

from collections.abc import Callable
from pathlib import Path

from evergold.build import rag
from evergold.build.check import Limits, check
from evergold.build.findings import Report
from evergold.build.partition import route_piece
from evergold.build.source import state_of
from evergold.build.spec import RagSpec
from evergold.build.verify import verify
from evergold.formats.atomic import write_bytes
from evergold.model.build import Manifest
from evergold.scale.executors import jobs_for, open_workers
from evergold.scale.scratch import scratch_folder
from evergold.settings import Settings


def build_rag(
    spec: RagSpec, *, jobs: int | None = None, cluster: str | None = None, progress: rag.Progress | None = None
) -> Manifest:
    """Offline generations → split files and manifest; by processes here, or by a Dask cluster at an address."""
    spec.require_sane()
    count = 1 if spec.limit is not None else jobs_for(jobs, state_of(spec.location).size)
    with (
        scratch_folder() as scratch,
        open_workers(count, None if spec.limit is not None else cluster, route_piece.__module__) as workers,
    ):
        return rag.build(spec, workers.executor, workers.count, progress, None if cluster else scratch)


def is_workspace(settings: Settings) -> bool:
    """Whether there is a workspace already: a build on its own makes none."""
    return bool(settings.database_url) or (settings.home / "evergold.db").exists()


def check_build(
    manifest: Path,
    baseline: Path | None = None,
    limits: Limits | None = None,
    junit: Path | None = None,
    advance: Callable[[int], None] | None = None,
) -> Report:
    """Every record against its schema and the manifest; the result also as JUnit XML where asked for."""
    report = check(manifest, baseline, limits, advance)
    if junit is not None:
        write_bytes(junit, report.to_junit())
    return report


def verify_build(folder: Path) -> Report:
    """Every hash of a build, derived again."""
    return verify(folder)
