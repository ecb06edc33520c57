"""Builds: RAG splits from an offline file."""

from evergold.build import rag
from evergold.build.spec import RagSpec
from evergold.model.build import Manifest
from evergold.scale.executors import jobs_for, open_workers


def build_rag(
    spec: RagSpec, *, jobs: int | None = None, cluster: str | None = None, progress: rag.Progress | None = None
) -> Manifest:
    """Offline generations → split files and manifest; by processes here, or by a Dask cluster at an address."""
    spec.require_sane()
    size = spec.source.stat().st_size
    count = 1 if spec.limit is not None else jobs_for(jobs, size)
    with open_workers(count, None if spec.limit is not None else cluster) as workers:
        return rag.build(spec, workers.executor, workers.count, progress)
