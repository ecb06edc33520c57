"""Checks of a build: is every record whole, is every file the one the manifest pins, did anything shrink or drift?"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from evergold.build import manifest as manifests
from evergold.build.check_split import MOST_UNGROUNDED, CheckLimits, SplitPart, check_split
from evergold.build.findings import Finding, Report
from evergold.build.look import Profile, drift, total_variation
from evergold.model.build import Manifest

__all__ = ["MOST_UNGROUNDED", "CheckLimits", "check"]


def check(
    path: Path,
    baseline: Path | None = None,
    limits: CheckLimits | None = None,
    advance: Callable[[int], None] | None = None,
) -> Report:
    """Check every record of every split against its schema and the manifest; with a baseline, also what changed."""
    limits = limits or CheckLimits()
    limits.require_sane()
    manifest = manifests.read_whole(path)
    report = Report(str(path), manifest.version, [])
    profiles: dict[str, Profile | None] = {}
    for part in _parts(path, manifest, limits):
        checked = check_split(part, advance)
        profiles[part.name] = checked.profile
        report.findings += checked.findings.values()
        if checked.samples:
            report.samples[part.name] = checked.samples
    if baseline is not None:
        report.findings += _against(baseline, manifest, profiles, limits)
    return report


def _parts(path: Path, manifest: Manifest, limits: CheckLimits) -> list[SplitPart]:
    schema = (manifest.model_extra or {}).get("schema")
    return [
        SplitPart(name, entry, manifests.locate(path, manifest, entry.path), schema, limits)
        for name, entry in manifest.splits.items()
    ]


def _against(
    baseline_path: Path,
    manifest: Manifest,
    profiles: Mapping[str, Profile | None],
    limits: CheckLimits,
) -> Iterator[Finding]:
    """Counts against the baseline's manifest; distributions against its files, where they still are."""
    baseline = manifests.read(baseline_path)
    # Only its distributions are wanted: the judge has nothing to read.
    for part in _parts(baseline_path, baseline, CheckLimits(judged=0)):
        checked = check_split(part)
        name, before = part.name, part.entry
        drop = Finding("count drop", name)
        now = manifest.splits[name].count if name in manifest.splits else 0
        # A split that was empty cannot shrink.
        share = (before.count - now) / before.count if before.count else 0.0
        drop.measured = {"before": before.count, "now": now, "drop": round(share, 4)}
        if share > limits.max_drop:
            drop.fail(
                f"{now} records, {before.count} in {baseline.version}: {share:.1%} fewer (limit {limits.max_drop:.0%})"
            )
        yield drop
        moved = Finding("drift", name)
        profile = profiles.get(name)
        # Drift needs the records of the baseline; a manifest alone has only their counts.
        old = None if checked.findings["hash"].outcome == "failed" else checked.profile
        if profile is None or old is None:
            moved.outcome = "not measured"
            moved.message = (
                f"the files of {baseline.version} or {manifest.version} are not there as their manifest pins them"
            )
        else:
            moved.measured = {kind: round(value, 4) for kind, value in drift(old, profile).items()}
            for kind, value in moved.measured.items():
                if value > limits.max_drift:
                    moved.fail(f"{kind} moved by {value:.2f} against {baseline.version} (limit {limits.max_drift:.2f})")
        yield moved
    yield _mix(baseline, manifest, limits)


def _mix(baseline: Manifest, manifest: Manifest, limits: CheckLimits) -> Finding:
    """How records are spread over the splits: a split of one task type cannot drift by type in itself, all of them can."""
    finding = Finding("drift", "all splits")
    old, new = ({name: entry.count for name, entry in one.splits.items()} for one in (baseline, manifest))
    moved = total_variation(old, new)
    finding.measured = {"split": round(moved, 4)}
    if moved > limits.max_drift:
        before, now = (", ".join(f"{count} {name}" for name, count in counts.items()) for counts in (old, new))
        finding.fail(
            f"the mix moved by {moved:.2f} (limit {limits.max_drift:.2f}): {before} in {baseline.version}, now {now}"
        )
    return finding
