"""RAG splits from an offline file, and checks of any build on disk; no store is needed."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evergold.build import rag
from evergold.build.check import CheckLimits, check, check_validated_rows
from evergold.build.manifest import Report, verify
from evergold.build.offline_records import copy_plain_lines, is_packed, state_of
from evergold.build.spec import RagSpec, load_spec
from evergold.build.versions import Builds
from evergold.errors import BadInput
from evergold.formats.atomic import scratch_folder, write_bytes
from evergold.model.build import Build, Manifest
from evergold.settings import Settings
from evergold.spread import jobs_for, spread_over, spread_processes

Advance = Callable[[int], None]


@dataclass(frozen=True)
class RagBuild:
    """A finished RAG build: its manifest, where that is, and its entry in the workspace where there is one."""

    manifest: Manifest
    path: Path
    registered: Build | None = None


class RagBuilds:
    """`builds` gives the stored builds; it is asked for only where a workspace exists."""

    verify = staticmethod(verify)

    def __init__(self, settings: Settings, builds: Callable[[], Builds]) -> None:
        self._settings, self._builds = settings, builds

    def build(
        self,
        config: Path | None,
        options: Mapping[str, Any],
        *,
        jobs: int | None = None,
        cluster: str | None = None,
        progress: Callable[[str, int | None], AbstractContextManager[Advance]] | None = None,
    ) -> RagBuild:
        """Build splits and manifest from an offline file; `options` replace what the config says."""
        spec = load_spec(config, dict(options))
        total = state_of(spec.location).size
        with progress("building", total) if progress else nullcontext(lambda _: None) as advance:
            manifest = build_rag(spec, jobs=jobs, cluster=cluster, advance=advance)
        # A build outside of a workspace must not create one.
        is_workspace = bool(self._settings.database_url) or (self._settings.home / "evergold.db").exists()
        return RagBuild(manifest, spec.manifest, self._builds().register(spec, manifest) if is_workspace else None)

    def check(
        self,
        manifest: Path,
        baseline: Path | None = None,
        limits: CheckLimits | None = None,
        junit: Path | None = None,
        advance: Advance | None = None,
    ) -> Report:
        """Check every record of a build, or every row of a validated `.jsonl` file of dataset A or B.

        The result is written as JUnit XML too where a file for it is named.
        """
        is_build = manifest.suffix != ".jsonl"
        report = check(manifest, baseline, limits, advance) if is_build else check_validated_rows(manifest)
        if junit is not None:
            write_bytes(junit, report.to_junit())
        return report


def build_rag(
    spec: RagSpec, *, jobs: int | None = None, cluster: str | None = None, advance: Advance = lambda size: None
) -> Manifest:
    """Build split files and manifest from offline generations; on several cores here, or by a Dask cluster at an address."""
    spec.require_sane()
    if spec.unpacked is None and is_packed(spec.location):
        # Workers seek to offsets of the file, which a packed one does not have.
        if cluster:
            raise BadInput(f"{spec.location} is packed; a cluster reads parts of plain lines: unpack it first")
        with scratch_folder() as folder:
            plain = copy_plain_lines(spec.origin, Path(folder))
            return build_rag(replace(spec, unpacked=plain), jobs=jobs, advance=advance)
    count = jobs_for(jobs, state_of(spec.location).size)
    # A limit is counted in the order of the file, so it is built by one process.
    if spec.limit is not None or (count == 1 and not cluster):
        return rag.build(spec, None, advance)
    with spread_over(cluster) if cluster else spread_processes(count, rag.__name__) as workers:
        return rag.build(spec, workers, advance)
