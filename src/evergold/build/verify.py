"""Verification: every hash of a build derived again from the bytes it pins.

`check` asks whether a build is good; `verify` only asks whether it is still the one that was made.
"""

from pathlib import Path
from typing import Any

import orjson

from evergold.build import manifest as manifests
from evergold.build.findings import Finding, Report
from evergold.model.build import FileEntry, Manifest
from evergold.model.case import Case


def verify(path: Path) -> Report:
    """Files against their hashes, cases against their revisions, the content hash against both."""
    manifest = manifests.read(path)
    extra = manifest.model_extra or {}
    report = Report(str(path), manifest.version, [])
    for name, entry in manifest.splits.items():
        report.findings.append(_file(path, manifest, name, entry))
    for name in ("source", "rejected_records", "excluded_cases"):
        pinned = extra.get(name)
        if isinstance(pinned, dict) and pinned.get("sha256"):
            known = FileEntry.model_validate({"count": 0, **pinned})
            report.findings.append(_file(path, manifest, name, known, may_be_absent=name == "source"))
    report.findings.append(_content(manifest))
    if extra.get("schema") == manifests.CASE_SCHEMA:
        report.findings += [_cases(path, manifest, name, entry) for name, entry in manifest.splits.items()]
    return report


def _file(path: Path, manifest: Manifest, name: str, entry: FileEntry, *, may_be_absent: bool = False) -> Finding:
    finding = Finding("sha256", name)
    found = manifests.locate(path, manifest, entry.path)
    if not found.is_file():
        if may_be_absent:
            finding.outcome, finding.message = "not measured", f"{found} is not here"
        else:
            finding.fail(f"{found} is missing")
    elif entry.sha256 is None:
        finding.outcome, finding.message = "not measured", "the manifest pins no hash"
    else:
        digest, size = manifests.hash_file(found)
        if digest != entry.sha256.removeprefix("sha256:"):
            finding.fail(f"{found}: sha256 is {digest} ({size:,} bytes), the manifest says {entry.sha256}")
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
    found = manifests.locate(path, manifest, entry.path)
    if not found.is_file():
        finding.outcome, finding.message = "not measured", "the file is missing"
        return finding
    with found.open("rb") as source:
        for number, line in enumerate(source, 1):
            row: dict[str, Any] = orjson.loads(line)
            if "canary" in row:
                continue
            pinned = row.pop("rev", None)
            derived = Case.model_validate(row).rev()
            if pinned != derived:
                finding.fail(f"line {number} ({row.get('id')}): its content gives {derived}, the line says {pinned}")
    return finding
