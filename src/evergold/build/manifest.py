"""The manifest: what a build holds, from what it was made, and the hashes that prove both.

Paths in it are relative to the project's root, as in the specification. `project_root` says where that is, seen from the
manifest, so that the whole folder can be moved and still be checked.

`check` asks whether a build is good; `verify` here only asks whether it is still the one that was made, and derives every
hash again from the bytes it pins. Both answer with findings: a broken line, a missing file or a field of the manifest that
was changed is one, never the end of the verification.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

import orjson
from pydantic import ValidationError

from evergold.errors import BadInput, NotFound
from evergold.formats.atomic import recover
from evergold.model.build import FileEntry, Manifest
from evergold.model.case import Case, written_case
from evergold.model.faults import first_fault
from evergold.model.values import content_hash
from evergold.storage import is_url, location, normal
from evergold.text.words import xml_text

CASE_SCHEMA = "evergold-case"
"""The schema of a frozen dataset: each line is a case."""
SEAL = "manifest_hash"
_VERSION = re.compile(r"v\d+(\.\d+)*")


def builder_version() -> str:
    return f"evergold {installed_version('evergold')}"


def require_version(version: str) -> str:
    if not _VERSION.fullmatch(version):
        raise BadInput(f"version {version!r} is not of the form v1, v2 or v2.1; write v and numbers")
    return version


def now_utc() -> datetime:
    """The time of a build; `SOURCE_DATE_EPOCH` fixes it, so that a build can be repeated to the byte."""
    # The variable of reproducible builds (reproducible-builds.org), in seconds since 1970.
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    if not fixed:
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(int(fixed), UTC)
    except (ValueError, OverflowError, OSError):
        raise BadInput(f"SOURCE_DATE_EPOCH is {fixed[:40]!r}; give the seconds since 1970 as a whole number") from None


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def seal_manifest(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest with the hash of all that it says, so that a changed field is found like a changed file."""
    return {**manifest, SEAL: seal_of(manifest)}


def seal_of(manifest: Mapping[str, Any]) -> str:
    return content_hash({name: value for name, value in manifest.items() if name != SEAL})


def encode(manifest: Mapping[str, Any]) -> bytes:
    return orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n"


def files_hash(files: Mapping[str, str]) -> str:
    """One hash for a build: that of its files' names and hashes. Time and place of the build are no part of it."""
    return content_hash(dict(files))


def hash_file(path: Path) -> tuple[str, int]:
    """The sha256 of a file and its size."""
    # Unbuffered: large blocks go straight into the hash.
    with path.open("rb", buffering=0) as source:
        return hashlib.file_digest(source, "sha256").hexdigest(), source.tell()


def read(path: Path) -> Manifest:
    """A manifest from its file, or from the folder that holds it."""
    if path.is_dir():
        path = path / "manifest.json"
    # A build that was interrupted while its files took their names is finished or undone before anything is read.
    recover(path.parent)
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise NotFound(f"no manifest at {path}; build one with `evergold build`") from None
    except ValidationError as problem:
        first = first_fault(problem, Manifest)
        raise BadInput(f"{path} is not a manifest: {first}") from None
    except OSError as problem:
        raise BadInput(f"cannot read {path}: {problem.strerror}") from problem


def read_whole(path: Path) -> Manifest:
    """A manifest that names at least one file: without one, everything could be said of it."""
    manifest = read(path)
    if not manifest.splits:
        raise BadInput(f"{path} lists no split, so there is nothing to look at; build it again with `evergold build`")
    return manifest


def holds_cases(manifest: Manifest) -> bool:
    """Whether the splits of a build are frozen cases; else they are records of a RAG build."""
    return bool((manifest.model_extra or {}).get("schema") == CASE_SCHEMA)


def locate(manifest_path: Path, manifest: Manifest, name: str) -> Path:
    """Where a file that the manifest names really is.

    A manifest of ours says where its root is; for any other, the nearest folder above it that has the file is taken. A build
    that was copied to another folder has its files beside the manifest.
    """
    folder = manifest_path.parent if manifest_path.is_file() else manifest_path
    # An absolute path or a URL was given that way and does not move with the folder.
    if is_url(name) or Path(name).is_absolute():
        return location(name)
    # Manifests of other tools name no root.
    root = getattr(manifest, "project_root", None)
    if isinstance(root, str):
        result = normal(folder / root / name)
        tails = (folder.joinpath(*Path(name).parts[start:]) for start in range(1, len(Path(name).parts)))
        return result if result.exists() else next((tail for tail in tails if tail.is_file()), result)
    for base in (folder, *folder.resolve().parents):
        if (base / name).exists():
            return base / name
    return folder / name


Outcome = Literal["passed", "failed", "not measured"]
# Examples per finding; the count is always whole.
SHOWN = 20


@dataclass
class BuildFinding:
    """One check of one split. Failures are counted whole and shown by their first few examples."""

    check: str
    split: str
    outcome: Outcome = "passed"
    message: str = ""
    count: int = 0
    examples: list[str] = field(default_factory=list)
    measured: dict[str, Any] = field(default_factory=dict)

    def fail(self, message: str) -> None:
        self.outcome = "failed"
        self.count += 1
        if not self.message:
            self.message = message
        if len(self.examples) < SHOWN:
            self.examples.append(message)

    def skip(self, reason: str) -> None:
        """Say why the check could not be made."""
        self.outcome, self.message = "not measured", reason


@dataclass
class Report:
    """All findings about a manifest, and the records drawn for a spot check."""

    manifest: str
    version: str
    findings: list[BuildFinding]
    samples: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def failed(self) -> list[BuildFinding]:
        return [finding for finding in self.findings if finding.outcome == "failed"]

    def to_json(self) -> dict[str, Any]:
        return {
            "manifest": self.manifest,
            "version": self.version,
            "passed": not self.failed,
            "checks": [vars(finding) for finding in self.findings],
            "samples": self.samples,
        }

    def to_junit(self) -> bytes:
        """One test case per check and split; a check that could not be made is skipped, with its reason."""
        outcomes = [finding.outcome for finding in self.findings]
        counts = (len(outcomes), len(self.failed), outcomes.count("not measured"), 0)
        totals = dict(zip(("tests", "failures", "skipped", "errors"), map(str, counts), strict=True))
        suite = ElementTree.Element("testsuite", {"name": f"evergold check {self.version}", **totals})
        for finding in self.findings:
            case = ElementTree.SubElement(suite, "testcase", classname=xml_text(finding.split), name=finding.check)
            if finding.outcome == "failed":
                message = f"{finding.count} times: {finding.message}" if finding.count > 1 else finding.message
                failure = ElementTree.SubElement(case, "failure", message=xml_text(message))
                failure.text = xml_text("\n".join(finding.examples))
            elif finding.outcome == "not measured":
                ElementTree.SubElement(case, "skipped", message=xml_text(finding.message))
        root = ElementTree.Element("testsuites")
        root.append(suite)
        ElementTree.indent(root)
        xml: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
        return xml + b"\n"


PINNED = ("source", "rejected_records", "excluded_cases")
SCHEMA_FILE = "schema.json"


def verify(path: Path) -> Report:
    """Files against their hashes, cases against their revisions, the content hash and the manifest's own against both."""
    manifest = read_whole(path)
    extra = manifest.model_extra or {}
    # The manifest's own fields, of which its hash was taken when it was written.
    finding = BuildFinding("manifest", "all fields")
    fields = orjson.loads((path / "manifest.json" if path.is_dir() else path).read_bytes())
    stated = fields.get(SEAL)
    if stated is None:
        finding.skip("the manifest has no hash of itself")
    elif (derived := seal_of(fields)) != stated:
        finding.fail(f"its fields give {derived}, it says {stated}: a field was changed after the build")
    report = Report(str(path), manifest.version, [finding])
    for name, entry in manifest.splits.items():
        report.findings.append(_file(path, manifest, name, entry))
    # These are pinned beside the splits, where the build has them.
    for name in PINNED:
        pinned = extra.get(name)
        if isinstance(pinned, dict) and pinned.get("sha256"):
            try:
                # `count` is missing in entries that pin no records, such as the source.
                entry = FileEntry.model_validate({"count": 0, **pinned})
            except ValidationError as problem:
                unreadable = BuildFinding("sha256", name)
                unreadable.fail(f"the manifest's entry cannot be read: {first_fault(problem)}")
                report.findings.append(unreadable)
            else:
                report.findings.append(_file(path, manifest, name, entry, may_be_absent=name == "source"))
    content = BuildFinding("content hash", "all splits")
    derived = files_hash({name: entry.sha256 or "" for name, entry in manifest.splits.items()})
    if manifest.content_hash is None:
        content.skip("the manifest has no content hash")
    elif derived != manifest.content_hash:
        content.fail(f"the splits' hashes give {derived}, the manifest says {manifest.content_hash}")
    report.findings.append(content)
    if holds_cases(manifest):
        folder = path if path.is_dir() else path.parent
        report.findings.append(_schema(folder, manifest))
        report.findings += [_cases(path, manifest, name, entry) for name, entry in manifest.splits.items()]
        # Whoever loads the folder's files by their ending would take one more for a split.
        unlisted = BuildFinding("files", "folder")
        listed = {entry.path for entry in manifest.splits.values()} | {"excluded.jsonl"}
        for file in sorted({file.name for file in folder.glob("*.jsonl")} - listed):
            unlisted.fail(f"{file} is in the folder, but the manifest does not list it")
        report.findings.append(unlisted)
    return report


def _file(path: Path, manifest: Manifest, name: str, entry: FileEntry, *, may_be_absent: bool = False) -> BuildFinding:
    finding = BuildFinding("sha256", name)
    result = locate(path, manifest, entry.path)
    if not result.is_file():
        if may_be_absent:
            finding.skip(f"{result} is not here")
        else:
            finding.fail(f"{result} is missing")
    elif entry.sha256 is None:
        finding.skip("the manifest pins no hash")
    else:
        digest, size = hash_file(result)
        if digest != entry.sha256.removeprefix("sha256:"):
            finding.fail(f"{result}: sha256 is {digest} ({size:,} bytes), the manifest says {entry.sha256}")
        # Hash and size are pinned apart; a manifest edited by hand may disagree in the size alone.
        elif entry.bytes and size != entry.bytes:
            finding.fail(f"{result} has {size:,} bytes, the manifest says {entry.bytes:,}")
    return finding


def _cases(path: Path, manifest: Manifest, name: str, entry: FileEntry) -> BuildFinding:
    """Each line of a frozen dataset carries the revision of its case: derive it again."""
    finding = BuildFinding("case revisions", name)
    result = locate(path, manifest, entry.path)
    if not result.is_file():
        finding.skip("the file is missing")
        return finding
    with result.open("rb") as source:
        for number, line in enumerate(source, 1):
            try:
                row = orjson.loads(line)
                if isinstance(row, dict) and "canary" in row:
                    continue
                pinned = row.pop("rev", None) if isinstance(row, dict) else None
                derived = written_case(row).rev()
            except ValueError as problem:
                fault = first_fault(problem, Case) if isinstance(problem, ValidationError) else problem
                finding.fail(f"line {number} is no case: {fault}")
                continue
            if pinned != derived:
                finding.fail(f"line {number} ({row['id']}): its content gives {derived}, the line says {pinned}")
    return finding


def _schema(folder: Path, manifest: Manifest) -> BuildFinding:
    finding, file = BuildFinding("schema hash", SCHEMA_FILE), folder / SCHEMA_FILE
    stated = (manifest.model_extra or {}).get("schema_hash")
    try:
        # The schema is hashed by content, so that its layout in the file does not matter.
        derived = content_hash(orjson.loads(file.read_bytes()))
    except (OSError, ValueError) as problem:
        finding.fail(f"{file} cannot be read: {problem}")
        return finding
    if derived != stated:
        finding.fail(f"{file} gives {derived}, the manifest says {stated}")
    return finding
