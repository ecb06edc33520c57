"""One split file against its schema and the manifest: every record whole, every id once, the file the one that is pinned.

Compare what a record names as its source with the sources of its contexts.

A record that names the document it was made from (`metadata.source_path`, or `document` where that is a file) has at least
one context from it, and a citation names the source of a context. Documents are compared by their file name without ending,
page and folder: `raw/2510.25529.pdf` and `processed/2510.25529.txt#page=28` are the same document.

Check many records at once for anything that the careful reader would have to look at.

Nearly every record of nearly every build is sound. So what a check asks of a record is asked of a block of them first, column by
column. Only where the answer is no does `check.py` look at the block again, record by record, and say which and why.
"""

import hashlib
import io
import random
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import msgspec
import orjson

from evergold.build import manifest as manifests
from evergold.build.diff import read_record
from evergold.build.findings import Finding
from evergold.build.grounding import GroundingSample
from evergold.build.look import Profile
from evergold.build.offline_records import SeenIds, fingerprint, is_utf8, read_blocks
from evergold.build.records import (
    CITATIONS,
    INPUTS,
    REFERENCES,
    CitedSource,
    Metadata,
    decode_case,
    first_text,
    is_label,
    record_type,
    require_texts,
    shape_of,
    tags_of,
    tags_of_all,
    unknown_markers,
)
from evergold.build.splits import ALIGNED, Kind
from evergold.errors import BadInput
from evergold.model.build import FileEntry

# An ending begins with a letter: in `2510.25529` the digits after the dot are part of the name.
_ENDING = re.compile(r"\.[A-Za-z]\w{0,5}$")


def source_problem(record: Any) -> str | None:
    """What does not match in a record; None where everything matches, or nothing can be compared."""
    sources = getattr(record, "sources", None)
    if not isinstance(sources, list) or not sources or not getattr(record, "contexts", None):
        return None
    # Titles and row numbers are no locations; without any location there is nothing to compare.
    known = {document_of(source) for source in sources if is_location(source)}
    if not known:
        return None
    name, path = _document(getattr(record, "metadata", None))
    if path and document_of(path) not in known:
        return f"none of its {len(sources)} contexts comes from {name} {path!r}; the first is from {sources[0]!r}"
    # Both names occur: of the record, and of the answer alone.
    for field in CITATIONS:
        for citation in getattr(record, field, None) or ():
            problem = _cited_wrongly(citation, record, known)
            if problem:
                return f"{field}: {problem}"
    return None


@lru_cache(maxsize=4096)
def document_of(source: str) -> str:
    """The name of a document, however its page, folder and ending are written."""
    path = re.split(r"[#?]", unquote(source), maxsplit=1)[0].replace("\\", "/").rstrip("/")
    name = path.rpartition("/")[2].casefold()
    return _ENDING.sub("", name) or name


@lru_cache(maxsize=4096)
def is_location(source: str) -> bool:
    """Whether a source is a path or an address; the number of a row or a title cannot be compared with one."""
    return bool("/" in source or "\\" in source or "#" in source or _ENDING.search(source))


def _document(metadata: Any) -> tuple[str, str]:
    """The key and the value of the metadata that name the document of a record."""
    if not isinstance(metadata, Metadata):
        return "", ""
    path = _text(metadata.source_path)
    if path:
        return "metadata.source_path", path
    document = _text(metadata.document)
    return ("metadata.document", document) if is_location(document) else ("", "")


def _cited_wrongly(citation: CitedSource, record: Any, known: set[str]) -> str | None:
    source = _text(citation.source) if isinstance(citation, CitedSource) else ""
    if not is_location(source):
        return None
    if document_of(source) not in known:
        return f"{source!r} is the source of no context"
    marker = bytes(citation.marker).decode()
    if marker.isdigit() and is_label(marker, record.contexts) and int(marker) <= len(record.sources):
        own = record.sources[int(marker) - 1]
        if is_location(own) and document_of(own) != document_of(source):
            return f"[{marker}] names {source!r}, its context comes from {own!r}"
    return None


def _text(raw: msgspec.Raw) -> str:
    """A JSON text; empty for anything else."""
    if not raw or memoryview(raw)[0] != ord('"'):
        return ""
    return str(orjson.loads(memoryview(raw)))


_first = itemgetter(0)


class Soundness:
    """Proves that records of one split are sound; that it cannot prove it says nothing yet."""

    def __init__(self, fields: Mapping[str, Kind], decode: Callable[[bytes], Any]) -> None:
        self._decode = decode
        read = [name for name in (*INPUTS, *REFERENCES) if name in fields]
        self._read = [attrgetter(name) for name in read]
        self._texts = [attrgetter(name) for name, kind in fields.items() if kind == "text" and name not in read]
        self._contexts = [attrgetter(name) for name, kind in fields.items() if kind == "contexts"]
        self._aligned = [attrgetter(name) for name in ALIGNED if name in fields]
        self._reference = next((attrgetter(name) for name in REFERENCES if name in fields), None)
        self._cited = attrgetter("contexts") if fields.get("contexts") == "contexts" else None

    def records(self, lines: Sequence[bytes]) -> list[Any] | None:
        """The records of these lines, or None if any of them needs a closer look."""
        try:
            records = list(map(self._decode, lines))
        except (ValueError, RecursionError):
            return None
        # The cheapest tests first; the conjunction ends at the first that fails.
        is_sound = (
            all(_are_texts(list(map(field, records))) for field in self._texts)
            and all(_are_texts(list(chain.from_iterable(map(field, records)))) for field in self._contexts)
            and all(all(map(str.strip, map(field, records))) for field in self._read)
            and self._are_aligned(records)
            and self._are_cited_well(records)
            and not any(map(source_problem, records))
        )
        return records if is_sound else None

    def _are_aligned(self, records: Sequence[Any]) -> bool:
        lengths = [list(map(len, map(field, records))) for field in self._aligned]
        if all(one == lengths[0] for one in lengths):
            return True
        # An empty list is aligned with anything, as in `record._require_alignment`.
        return all(len(set(sizes) - {0}) <= 1 for sizes in zip(*lengths, strict=True))

    def _are_cited_well(self, records: Sequence[Any]) -> bool:
        if self._reference is None or self._cited is None:
            return True
        pairs = zip(map(self._reference, records), map(self._cited, records), strict=True)
        return not any("[" in reference and unknown_markers(reference, contexts) for reference, contexts in pairs)


def _are_texts(values: Sequence[msgspec.Raw]) -> bool:
    # All first bytes in one string: whatever is left after removing quotation marks begins no text.
    return not bytes(map(_first, map(memoryview, values))).translate(None, b'"')  # type: ignore[arg-type]


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
