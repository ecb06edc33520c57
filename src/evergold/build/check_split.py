"""One split file against its schema and the manifest: every record whole, every id once, the file the one that is pinned."""

import hashlib
import io
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import msgspec

from evergold.build import manifest as manifests
from evergold.build.diff import read_record
from evergold.build.findings import Finding
from evergold.build.grounding import GroundingSample
from evergold.build.offline_records import is_utf8, read_blocks
from evergold.build.profile import Profile
from evergold.build.records import (
    INPUTS,
    REFERENCES,
    decode_case,
    first_text,
    record_type,
    require_texts,
    shape_of,
    tags_of,
    tags_of_all,
    unknown_markers,
)
from evergold.build.seen import SeenIds, fingerprint
from evergold.build.sound import Soundness
from evergold.build.source_match import source_problem
from evergold.build.splits import ALIGNED, Kind
from evergold.errors import BadInput
from evergold.model.build import FileEntry

MOST_UNGROUNDED = 0.4
"""The judge finds no support for 24 to 25 % of restated sentences that people call supported (`docs/offline-judge.md`). Of 50
records with one such sentence each, 40 % are passed by nearly every sound split and by none that is unsupported throughout."""


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
        shares = (
            ("--max-drop", self.max_drop),
            ("--max-drift", self.max_drift),
            ("--max-ungrounded", self.max_ungrounded),
        )
        for name, share in shares:
            if not 0 <= share <= 1:
                raise BadInput(f"{name} {share}: give a share between 0 and 1")
        for name, count in (("--sample", self.sample), ("--judged", self.judged)):
            if count < 0:
                raise BadInput(f"{name} {count}: give 0 or more")


@dataclass(frozen=True)
class SplitPart:
    """A split to check: its entry in the manifest, and where its file is."""

    name: str
    entry: FileEntry
    path: Path
    schema: str | None
    limits: CheckLimits


@dataclass(frozen=True)
class CheckedSplit:
    """What checking a split gave; no profile where its file is missing."""

    profile: Profile | None
    findings: dict[str, Finding]
    samples: list[dict[str, Any]]


def check_split(part: SplitPart, advance: Callable[[int], None] | None = None) -> CheckedSplit:
    """Check one split; what a worker does, which sees the file under the same path."""
    checker = _SplitCheck(part.name, part.entry, part.limits, part.schema)
    profile = checker.run(part.path, advance)
    # Ids that were seen are needed while records are counted, and by nobody else.
    counted = replace(profile, _seen=SeenIds()) if profile else None
    return CheckedSplit(counted, checker.findings, checker.samples)


class _SplitCheck:
    """One pass over one split file."""

    CHECKS = ("file", "hash", "count", "schema", "references", "citations", "alignment", "ids")
    RAG_CHECKS = ("source_match", "grounded")
    """Of records with contexts only; a frozen case is judged by a run."""

    def __init__(self, name: str, entry: FileEntry, limits: CheckLimits, schema: str | None) -> None:
        self.findings = {check: Finding(check, name) for check in self.CHECKS}
        self.samples: list[dict[str, Any]] = []
        self._entry = entry
        self._decode: Callable[[bytes], Any] = decode_case
        self._fields: Mapping[str, Kind] = {}
        self._keys: Mapping[str, str] = {}
        self._soundness: Soundness | None = None
        self._grounding: GroundingSample | None = None
        self._max_ungrounded = limits.max_ungrounded
        if schema != manifests.CASE_SCHEMA:
            self._fields, self._keys = shape_of(name, entry.model_extra or {})
            self._decode = msgspec.json.Decoder(record_type(self._fields, self._keys)).decode
            self._soundness = Soundness(self._fields, self._decode)
            self._grounding = GroundingSample(name, entry.count, limits.judged, limits.seed)
            self.findings |= {check: Finding(check, name) for check in self.RAG_CHECKS}
        self._ids = SeenIds()
        self._canaries = 0
        wanted = min(limits.sample, entry.count)
        # A seed of its own for each split: adding a split must not change which records of the others are shown.
        self._wanted = frozenset(random.Random(f"{limits.seed}:{name}").sample(range(1, entry.count + 1), wanted))

    def run(self, path: Path, advance: Callable[[int], None] | None) -> Profile | None:
        if not path.is_file():
            self.findings["file"].fail(f"{path} is missing")
            # Every check of a missing file is reported, so that a report always lists the same checks.
            for finding in list(self.findings.values())[1:]:
                finding.outcome, finding.message = "not measured", "the file is missing"
            return None
        profile = Profile()
        digest = hashlib.sha256()
        size = lines = 0
        for data in _blocks(path):
            size += len(data)
            digest.update(data)
            block, is_text = list(io.BytesIO(data)), is_utf8(data)
            # Sound blocks are proved as a whole; a block that is not UTF-8 is read line by line to name the broken one.
            records = self._sound(lines + 1, block) if is_text else None
            if self._grounding is not None:
                self._grounding.add(lines + 1, block)
            if records is not None:
                self._take(lines + 1, records, profile)
                lines += len(records)
            else:
                for line in block:
                    # Canaries are no records, so `lines` counts records and
                    # `_canaries` makes up the difference to the line number.
                    lines += self._is_record(lines + 1, line, profile, is_text)
            if advance:
                advance(len(data))
        self._compare_with_manifest(digest.hexdigest(), size, lines)
        if self._grounding is not None:
            self._grounding.measure(self.findings["grounded"], self._decode, self._max_ungrounded)
        return profile

    def _sound(self, first: int, lines: Sequence[bytes]) -> list[Any] | None:
        """The records of a block in which there is nothing to find fault with, nor to show; None leaves it to `_is_record`."""
        if self._soundness is None or not self._wanted.isdisjoint(range(first, first + len(lines))):
            return None
        return self._soundness.records(lines)

    def _take(self, first: int, records: Sequence[Any], profile: Profile) -> None:
        ids = [record.task_id for record in records]
        fingerprints = b"".join([fingerprint(task_id.encode()) for task_id in ids])
        for index in self._ids.add_all(fingerprints):
            self.findings["ids"].fail(f"line {first + index} ({ids[index]}): the id was there before")
        questions = [first_text(record, INPUTS) or "" for record in records]
        references = [first_text(record, REFERENCES) or "" for record in records]
        profile.add_all([record.task_type for record in records], tags_of_all(records), questions, references)

    def _compare_with_manifest(self, digest: str, size: int, lines: int) -> None:
        pinned = self._entry.sha256
        if pinned is None:
            self.findings["hash"].outcome = "not measured"
            self.findings["hash"].message = "the manifest pins no hash"
        elif pinned.removeprefix("sha256:") != digest:
            self.findings["hash"].fail(f"sha256 is {digest}, the manifest says {pinned}; {size:,} bytes")
        if lines != self._entry.count:
            self.findings["count"].fail(f"{lines} records, the manifest says {self._entry.count}")

    def _is_record(self, number: int, line: bytes, profile: Profile, is_text: bool) -> bool:
        """Checks one line; only a canary is none. `is_text` says that it is known to be UTF-8."""
        try:
            if not is_text:
                line.decode()
            record = self._decode(line)
            require_texts(record, self._fields)
        # msgspec and orjson raise subclasses of ValueError; deep nesting raises RecursionError.
        except (ValueError, RecursionError) as problem:
            self.findings["schema"].fail(f"line {number + self._canaries}: {' '.join(str(problem).split())}")
            return True
        if record is None:
            self._canaries += 1
            return False
        if number in self._wanted:
            self.samples.append(read_record(line))
        where = f"line {number + self._canaries} ({record.task_id})"
        if not self._ids.add(fingerprint(record.task_id.encode())):
            self.findings["ids"].fail(f"{where}: the id was there before")
        for name in (*INPUTS, *REFERENCES):
            text = getattr(record, name, None)
            if text is not None and not text.strip():
                self.findings["references"].fail(f"{where}: {self._keys.get(name, name)} is empty")
        reference = first_text(record, REFERENCES) or ""
        self._citations(where, reference, getattr(record, "contexts", None))
        self._alignment(where, record)
        if "source_match" in self.findings and (mismatch := source_problem(record)):
            self.findings["source_match"].fail(f"{where}: {mismatch}")
        profile.add(record.task_type, tags_of(record), first_text(record, INPUTS) or "", reference)
        return True

    def _citations(self, where: str, reference: str, contexts: list[msgspec.Raw] | None) -> None:
        unknown = unknown_markers(reference, contexts or [])
        if unknown:
            listed = ", ".join(f"[{marker}]" for marker in unknown)
            self.findings["citations"].fail(f"{where}: {listed} points at none of {len(contexts or [])} contexts")

    def _alignment(self, where: str, record: Any) -> None:
        lengths = {name: len(value) for name in ALIGNED if (value := getattr(record, name, None))}
        if len(set(lengths.values())) > 1:
            self.findings["alignment"].fail(f"{where}: {lengths} must pair up place by place")


def _blocks(path: Path) -> Iterator[bytes]:
    """Whole lines, as many at a time as the processor's cache can hold."""
    with path.open("rb") as source:
        # A line is held however long it is: a check has to look at it.
        for block in read_blocks(source, max_line=sys.maxsize):
            yield block.data or b""
