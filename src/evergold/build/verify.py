"""Verification: every hash of a build derived again from the bytes it pins.

`check` asks whether a build is good; `verify` only asks whether it is still the one that was made. So a broken line, a
missing file or a field of the manifest that was changed is a finding, never the end of the verification.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from evergold.build import manifest as manifests
from evergold.build.findings import Finding, Report
from evergold.model.build import FileEntry, Manifest
from evergold.model.case import Case, written_case
from evergold.model.faults import faults_of
from evergold.model.values import content_hash

PINNED = ("source", "rejected_records", "excluded_cases")
SCHEMA_FILE = "schema.json"


def verify(path: Path) -> Report:
    """Files against their hashes, cases against their revisions, the content hash and the manifest's own against both."""
    manifest = manifests.read_whole(path)
    extra = manifest.model_extra or {}
    report = Report(str(path), manifest.version, [_seal(path)])
    for name, entry in manifest.splits.items():
        report.findings.append(_file(path, manifest, name, entry))
    # These are pinned beside the splits, where the build has them.
    for name in PINNED:
        pinned = extra.get(name)
        if isinstance(pinned, dict) and pinned.get("sha256"):
            report.findings.append(_pinned(path, manifest, name, pinned))
    report.findings.append(_content(manifest))
    if extra.get("schema") == manifests.CASE_SCHEMA:
        report.findings.append(_schema(path, manifest))
        report.findings += [_cases(path, manifest, name, entry) for name, entry in manifest.splits.items()]
        report.findings.append(_unlisted(path, manifest))
    return report


def _seal(path: Path) -> Finding:
    """The manifest's own fields, of which its hash was taken when it was written."""
    finding = Finding("manifest", "all fields")
    file = path / "manifest.json" if path.is_dir() else path
    fields: dict[str, Any] = orjson.loads(file.read_bytes())
    stated = fields.get(manifests.SEAL)
    if stated is None:
        finding.outcome, finding.message = "not measured", "the manifest has no hash of itself"
    elif (derived := manifests.seal_of(fields)) != stated:
        finding.fail(f"its fields give {derived}, it says {stated}: a field was changed after the build")
    return finding


def _pinned(path: Path, manifest: Manifest, name: str, pinned: dict[str, Any]) -> Finding:
    try:
        # `count` is missing in entries that pin no records, such as the source.
        entry = FileEntry.model_validate({"count": 0, **pinned})
    except ValidationError as problem:
        finding = Finding("sha256", name)
        finding.fail(f"the manifest's entry cannot be read: {faults_of(problem.errors(include_url=False))[0]}")
        return finding
    return _file(path, manifest, name, entry, may_be_absent=name == "source")


def _file(path: Path, manifest: Manifest, name: str, entry: FileEntry, *, may_be_absent: bool = False) -> Finding:
    finding = Finding("sha256", name)
    result = manifests.locate(path, manifest, entry.path)
    if not result.is_file():
        if may_be_absent:
            finding.outcome, finding.message = "not measured", f"{result} is not here"
        else:
            finding.fail(f"{result} is missing")
    elif entry.sha256 is None:
        finding.outcome, finding.message = "not measured", "the manifest pins no hash"
    else:
        digest, size = manifests.hash_file(result)
        if digest != entry.sha256.removeprefix("sha256:"):
            finding.fail(f"{result}: sha256 is {digest} ({size:,} bytes), the manifest says {entry.sha256}")
        # Hash and size are pinned apart; a manifest edited by hand may disagree in the size alone.
        elif entry.bytes and size != entry.bytes:
            finding.fail(f"{result} has {size:,} bytes, the manifest says {entry.bytes:,}")
    return finding


def _content(manifest: Manifest) -> Finding:
    finding = Finding("content hash", "all splits")
    derived = manifests.files_hash({name: entry.sha256 or "" for name, entry in manifest.splits.items()})
    if manifest.content_hash is None:
        finding.outcome, finding.message = "not measured", "the manifest has no content hash"
    elif derived != manifest.content_hash:
        finding.fail(f"the splits' hashes give {derived}, the manifest says {manifest.content_hash}")
    return finding


def _cases(path: Path, manifest: Manifest, name: str, entry: FileEntry) -> Finding:
    """Each line of a frozen dataset carries the revision of its case: derive it again."""
    finding = Finding("case revisions", name)
    result = manifests.locate(path, manifest, entry.path)
    if not result.is_file():
        finding.outcome, finding.message = "not measured", "the file is missing"
        return finding
    with result.open("rb") as source:
        for number, line in enumerate(source, 1):
            for problem in _problems_of(line):
                finding.fail(f"line {number}{problem}")
    return finding


def _problems_of(line: bytes) -> Iterator[str]:
    """What is wrong with a line of a frozen dataset; nothing with a canary."""
    try:
        row = orjson.loads(line)
        if isinstance(row, dict) and "canary" in row:
            return
        pinned = row.pop("rev", None) if isinstance(row, dict) else None
        derived = written_case(row).rev()
    except ValueError as problem:
        faults = (
            faults_of(problem.errors(include_url=False), Case) if isinstance(problem, ValidationError) else [problem]
        )
        yield f" is no case: {faults[0]}"
        return
    if pinned != derived:
        yield f" ({row['id']}): its content gives {derived}, the line says {pinned}"


def _schema(path: Path, manifest: Manifest) -> Finding:
    finding = Finding("schema hash", SCHEMA_FILE)
    file = (path if path.is_dir() else path.parent) / SCHEMA_FILE
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


def _unlisted(path: Path, manifest: Manifest) -> Finding:
    """Whoever loads the folder's files by their ending would take one more for a split."""
    finding = Finding("files", "folder")
    folder = path if path.is_dir() else path.parent
    listed = {entry.path for entry in manifest.splits.values()} | {"excluded.jsonl"}
    for name in sorted(file.name for file in folder.glob("*.jsonl") if file.name not in listed):
        finding.fail(f"{name} is in the folder, but the manifest does not list it")
    return finding
