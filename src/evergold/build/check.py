"""Checks of builds: is every record whole, is every file the one the manifest pins, did anything shrink or drift?

Validated rows of dataset A and B are checked by the rules of the validator's export."""

import hashlib
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from evergold.build import manifest as manifests
from evergold.build.compare import Profile, drift, read_record, total_variation
from evergold.build.groundedness import GroundingSample, source_problem
from evergold.build.manifest import BuildFinding, Report
from evergold.build.offline_records import SeenIds
from evergold.build.records import (
    INPUTS,
    REFERENCES,
    decode_case,
    first_text,
    record_type,
    require_texts,
    shape_of,
    tags_of,
    unknown_markers,
)
from evergold.build.spec import ALIGNED, Kind
from evergold.errors import BadInput
from evergold.formats.dataset_ab import read_rows, sibling_of
from evergold.model.build import FileEntry, Manifest

MOST_UNGROUNDED = 0.4
"""The judge finds no support for 24 to 25 % of restated sentences that people call supported (`measurements/offline-judge.md`).
Of 50 records with one such sentence each, 40 % are passed by nearly every sound split and by none that is unsupported."""
_REPORTED_BYTES = 1 << 20


@dataclass(frozen=True)
class CheckLimits:
    """What a check tolerates, and which records it shows."""

    max_drop: float = 0.10
    max_drift: float = 0.20
    sample: int = 0
    seed: int = 0
    judged: int = 50
    """How many records of each split the offline judge reads."""
    max_ungrounded: float = MOST_UNGROUNDED

    def require_sane(self) -> None:
        for name in ("max_drop", "max_drift", "max_ungrounded"):
            if not 0 <= getattr(self, name) <= 1:
                raise BadInput(f"--{name.replace('_', '-')} {getattr(self, name)}: give a share between 0 and 1")
        for name in ("sample", "judged"):
            if getattr(self, name) < 0:
                raise BadInput(f"--{name} {getattr(self, name)}: give 0 or more")


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
    for split in _splits(path, manifest, limits):
        profiles[split.name] = split.run(advance or (lambda _: None))
        report.findings += split.findings.values()
        if split.samples:
            report.samples[split.name] = split.samples
    if baseline is not None:
        report.findings += _compare_with(baseline, manifest, profiles, limits)
    return report


def _splits(path: Path, manifest: Manifest, limits: CheckLimits) -> Iterator["_SplitCheck"]:
    is_of_cases = manifests.holds_cases(manifest)
    for name, entry in manifest.splits.items():
        yield _SplitCheck(name, entry, manifests.locate(path, manifest, entry.path), limits, is_of_cases)


def _compare_with(
    baseline_path: Path, manifest: Manifest, profiles: Mapping[str, Profile | None], limits: CheckLimits
) -> Iterator[BuildFinding]:
    """Counts against the baseline's manifest; distributions against its files, where they still are."""
    baseline = manifests.read(baseline_path)
    # Only its distributions are wanted: the judge has nothing to read.
    for split in _splits(baseline_path, baseline, CheckLimits(judged=0)):
        name, before = split.name, split.entry.count
        drop = BuildFinding("count drop", name)
        now = manifest.splits[name].count if name in manifest.splits else 0
        # A split that was empty cannot shrink.
        share = (before - now) / before if before else 0.0
        drop.measured = {"before": before, "now": now, "drop": round(share, 4)}
        if share > limits.max_drop:
            drop.fail(f"{now} records, {before} in {baseline.version}: {share:.1%} fewer (limit {limits.max_drop:.0%})")
        yield drop
        moved = BuildFinding("drift", name)
        profile, old = profiles.get(name), split.run()
        # Drift needs the records of the baseline; a manifest alone has only their counts.
        if profile is None or old is None or split.findings["hash"].outcome == "failed":
            both = f"{baseline.version} or {manifest.version}"
            moved.skip(f"the files of {both} are not there as their manifest pins them")
        else:
            moved.measured = {kind: round(value, 4) for kind, value in drift(old, profile).items()}
            for kind, value in moved.measured.items():
                if value > limits.max_drift:
                    moved.fail(f"{kind} moved by {value:.2f} against {baseline.version} (limit {limits.max_drift:.2f})")
        yield moved
    # How records are spread over the splits: a split of one task type cannot drift by type in itself, all of them can.
    mix = BuildFinding("drift", "all splits")
    counts = [{name: entry.count for name, entry in one.splits.items()} for one in (baseline, manifest)]
    distance = total_variation(*counts)
    mix.measured = {"split": round(distance, 4)}
    if distance > limits.max_drift:
        was, is_now = (", ".join(f"{count} {name}" for name, count in one.items()) for one in counts)
        limit = f"(limit {limits.max_drift:.2f})"
        mix.fail(f"the mix moved by {distance:.2f} {limit}: {was} in {baseline.version}, now {is_now}")
    yield mix


class _SplitCheck:
    """One pass over one split file: every record whole, every id once, the file the one that is pinned."""

    CHECKS = ("file", "hash", "count", "schema", "references", "citations", "alignment", "ids")
    RAG_CHECKS = ("source_match", "grounded")
    """Of records with contexts only; a frozen case is judged by a run."""

    def __init__(self, name: str, entry: FileEntry, path: Path, limits: CheckLimits, is_of_cases: bool) -> None:
        self.name, self.entry = name, entry
        checks = self.CHECKS if is_of_cases else (*self.CHECKS, *self.RAG_CHECKS)
        self.findings = {check: BuildFinding(check, name) for check in checks}
        self.samples: list[dict[str, Any]] = []
        self._path = path
        self._decode: Callable[[bytes], Any] = decode_case
        self._fields: Mapping[str, Kind] = {}
        self._keys: Mapping[str, str] = {}
        self._grounding: GroundingSample | None = None
        self._max_ungrounded = limits.max_ungrounded
        if not is_of_cases:
            self._fields, self._keys = shape_of(name, entry.model_extra or {})
            self._decode = msgspec.json.Decoder(record_type(self._fields, self._keys)).decode
            self._grounding = GroundingSample(name, entry.count, limits.judged, limits.seed)
        self._ids = SeenIds()
        wanted = min(limits.sample, entry.count)
        # A seed of its own for each split: adding a split must not change which records of the others are shown.
        self._wanted = frozenset(random.Random(f"{limits.seed}:{name}").sample(range(1, entry.count + 1), wanted))

    def run(self, advance: Callable[[int], None] = lambda _: None) -> Profile | None:
        """Check every line; the profile of the records, or None where the file is missing."""
        if not self._path.is_file():
            self.findings["file"].fail(f"{self._path} is missing")
            # Every check of a missing file is reported, so that a report always lists the same checks.
            for finding in list(self.findings.values())[1:]:
                finding.skip("the file is missing")
            return None
        profile = Profile()
        digest = hashlib.sha256()
        size = reported = records = 0
        with self._path.open("rb") as source:
            for number, line in enumerate(source, 1):
                digest.update(line)
                size += len(line)
                # A canary is no record: `records` counts those, `number` the lines.
                records += self._is_record(number, records + 1, line, profile)
                if size - reported >= _REPORTED_BYTES:
                    advance(size - reported)
                    reported = size
        advance(size - reported)
        pinned = self.entry.sha256
        if pinned is None:
            self.findings["hash"].skip("the manifest pins no hash")
        elif pinned.removeprefix("sha256:") != digest.hexdigest():
            self.findings["hash"].fail(f"sha256 is {digest.hexdigest()}, the manifest says {pinned}; {size:,} bytes")
        if records != self.entry.count:
            self.findings["count"].fail(f"{records} records, the manifest says {self.entry.count}")
        if self._grounding is not None:
            self._grounding.measure(self.findings["grounded"], self._decode, self._max_ungrounded)
        return profile

    def _is_record(self, line_number: int, number: int, line: bytes, profile: Profile) -> bool:
        """Check one line; only a canary is no record."""
        if self._grounding is not None:
            self._grounding.add(number, line)
        try:
            line.decode()
            record = self._decode(line)
            require_texts(record, self._fields)
        # msgspec and orjson raise subclasses of ValueError; deep nesting raises RecursionError.
        except (ValueError, RecursionError) as problem:
            self.findings["schema"].fail(f"line {line_number}: {' '.join(str(problem).split())}")
            return True
        if record is None:
            return False
        if number in self._wanted:
            self.samples.append(read_record(line))
        where = f"line {line_number} ({record.task_id})"
        if not self._ids.add(record.task_id.encode()):
            self.findings["ids"].fail(f"{where}: the id was there before")
        for name in (*INPUTS, *REFERENCES):
            text = getattr(record, name, None)
            if text is not None and not text.strip():
                self.findings["references"].fail(f"{where}: {self._keys.get(name, name)} is empty")
        reference = first_text(record, REFERENCES) or ""
        contexts = getattr(record, "contexts", None) or ()
        if unknown := unknown_markers(reference, contexts):
            listed = ", ".join(f"[{marker}]" for marker in unknown)
            self.findings["citations"].fail(f"{where}: {listed} points at none of {len(contexts)} contexts")
        lengths = {name: len(value) for name in ALIGNED if (value := getattr(record, name, None))}
        if len(set(lengths.values())) > 1:
            self.findings["alignment"].fail(f"{where}: {lengths} must pair up place by place")
        if "source_match" in self.findings and (mismatch := source_problem(record)):
            self.findings["source_match"].fail(f"{where}: {mismatch}")
        profile.add(record.task_type, tags_of(record), first_text(record, INPUTS) or "", reference)
        return True


NEEDS = ("needsQuery", "needsBaseCommit")
COMMIT = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)


def row_faults(row: dict[str, Any]) -> Iterator[str]:
    """Every fault of a row, each naming its field."""
    for name in NEEDS:
        if name in row:
            yield f"{name} is present: the row is not validated"
    if not _is_text(row.get("query")):
        yield "query is empty"
    # Abbreviated hashes are allowed from seven digits, git's own minimum for display.
    if not isinstance(row.get("baseCommit"), str) or not COMMIT.fullmatch(row["baseCommit"]):
        yield "baseCommit is not a commit hash (7 to 64 hex digits)"
    lists = [name for name in ("filePaths", "lineRanges") if name in row]
    if len(lists) != 1:
        yield "a row has filePaths (dataset A) or lineRanges (dataset B)"
        return
    entries = row[lists[0]]
    if not isinstance(entries, list):
        yield f"{lists[0]} is not a list"
        return
    if not entries and lists[0] == "filePaths":
        yield "filePaths is empty"
    for number, entry in enumerate(entries):
        yield from (f"{lists[0]}[{number}] {fault}" for fault in _entry_faults(entry, lists[0]))


def _entry_faults(entry: Any, name: str) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield "is not an object"
        return
    path = entry.get("path")
    if not isinstance(path, str) or not path.strip() or path.startswith("/") or ".." in path.split("/"):
        yield f"has no path inside the repository: {path!r}"
    sources = entry.get("sources")
    if not isinstance(sources, list) or not sources or not all(_is_text(source) for source in sources):
        yield "has no sources"
    if name == "lineRanges":
        start, end = entry.get("startLine"), entry.get("endLine")
        # `True` is an integer in Python, hence the exact type.
        if type(start) is not int or type(end) is not int or not 1 <= start <= end:
            yield f"has lines {start!r} to {end!r}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.strip() != ""


def check_validated_rows(path: Path) -> Report:
    """A validated file of either dataset, row by row, and its pairing with the other file where that stands beside it."""
    if not path.is_file():
        raise BadInput(f"no file {str(path)!r} to check")
    parsed, complete, unique = (
        BuildFinding(name, path.name) for name in ("rows are JSON", "rows are complete", "ids are unique")
    )
    problems: list[tuple[int, str]] = []
    seen: dict[str, int] = {}
    for number, row in read_rows(path, problems):
        for fault in row_faults(row):
            complete.fail(f"line {number}, case {row['caseId']}: {fault}")
        if row["caseId"] in seen:
            unique.fail(f"line {number}: case {row['caseId']} is in line {seen[row['caseId']]} already")
        seen.setdefault(row["caseId"], number)
    for number, problem in problems:
        parsed.fail(f"line {number}: {problem}")
    paired = BuildFinding("both datasets hold the same cases", path.name)
    if (sibling := sibling_of(path)) is None:
        paired.skip("the other file of the pair is not beside this one")
    else:
        for case_id in sorted(seen.keys() ^ {row["caseId"] for _, row in read_rows(sibling, [])}):
            paired.fail(f"case {case_id} is only in {path.name if case_id in seen else sibling.name}")
    return Report(str(path), "rows", [parsed, complete, unique, paired])
