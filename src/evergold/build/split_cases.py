"""Cases out of a build: the split files as they are, pinned by the manifest that names them.

`live@v1` is a version that the store knows, `live@v1:test` one split of it; `--dataset-type NAME` takes a split file or a
manifest by its path, a split of one's own included. A split file has the version of the manifest beside it, while it is the file
that the manifest pins. A file that is not the one its manifest was written for is refused: a run must not claim a version
that it did not use.

What was recorded of a RAG case is its reference: the offline generator's own answer. Measured with `--model recorded`, it
shows whether the references themselves are grounded and cited.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson

from evergold import plugins
from evergold.build.manifest import hash_file, holds_cases, locate
from evergold.build.manifest import read as read_manifest
from evergold.build.records import INPUTS, REFERENCES, shape_of
from evergold.errors import BadInput, Conflict, EvergoldError, describe_unknown
from evergold.formats.lines import first_record
from evergold.formats.rag_splits import OwnSplit
from evergold.model.build import FileEntry, Frozen, Manifest, dataset_hash
from evergold.model.case import Case, written_case
from evergold.model.faults import Rejected
from evergold.model.tool_schemas import PackedCases
from evergold.seams import Format
from evergold.storage import open_read

TYPES = ("qa", "summaries")


def read_split(path: Path, dataset_type: str) -> Frozen:
    """A split by its type: of the file itself, or of the one that a manifest names."""
    if not path.is_file():
        raise BadInput(f"no file {str(path)!r}; give a split file, or the manifest of a build")
    if path.suffix != ".json":
        return _split_file(path, dataset_type)
    manifest = read_manifest(path)
    # Manifests of other tools call the split `qa_pairs`, after its file.
    name = next((name for name in manifest.splits if name in (dataset_type, f"{dataset_type}_pairs")), None)
    if name is None:
        raise BadInput(f"{path}: {describe_unknown('split', dataset_type, tuple(manifest.splits))}")
    return _frozen_split(path, manifest, name, dataset_type)


def _frozen_split(path: Path, manifest: Manifest, name: str, dataset_type: str) -> Frozen:
    digest, cases = _split_of(path, manifest, name, dataset_type)
    return Frozen(dataset_type, manifest.version, f"sha256:{digest}", cases, _build_of(manifest, name))


def _split_file(path: Path, dataset_type: str) -> Frozen:
    """A split file: a version of the manifest beside it, or known by its own hash where none pins it."""
    digest, _ = hash_file(path)
    for beside in sorted(path.parent.glob("*.json")):
        try:
            manifest = read_manifest(beside)
        except EvergoldError:
            continue  # another JSON file that lies there
        for name, entry in manifest.splits.items():
            # A manifest without hashes pins by path alone.
            pinned = entry.sha256 is None or entry.sha256.removeprefix("sha256:") == digest
            if pinned and locate(beside, manifest, entry.path).resolve() == path.resolve():
                return _frozen_split(beside, manifest, name, dataset_type)
    return Frozen(dataset_type, digest[:12], f"sha256:{digest}", _cases(path, _reader_of(path, dataset_type)))


def _reader_of(path: Path, dataset_type: str, entry: FileEntry | None = None) -> Format:
    """The reader of a split: a shipped one, or one for the texts that the manifest, or the file itself, names."""
    if dataset_type in TYPES:
        reader: Format = plugins.load("formats", dataset_type)
        return reader
    if entry is not None:
        keys = shape_of(dataset_type, entry.model_extra or {}).keys
    else:
        with open_read(path) as lines:
            keys = {name: name for name in first_record(lines.readline())}
    question = next((keys[name] for name in INPUTS if name in keys), None)
    reference = next((keys[name] for name in REFERENCES if name in keys), None)
    if question is None or reference is None:
        raise BadInput(
            f"{path}: split {dataset_type!r} has no text to ask or no reference; mark both as required in its table, "
            f"build it, and run it beside its manifest (shipped types: {', '.join(TYPES)})"
        )
    return OwnSplit(dataset_type, question, reference)


def read_version(dataset: str, location: Path, split: str | None) -> Frozen:
    """All cases of a stored version, or those of one split."""
    manifest = read_manifest(location)
    if split is not None and split not in manifest.splits:
        raise BadInput(describe_unknown(f"split of {dataset} {manifest.version}", split, tuple(manifest.splits)))
    # Without a split named, those that no run can read are left out; named, they are an error.
    names = [split] if split else [name for name in manifest.splits if _is_readable(manifest, name)]
    if not names:
        raise BadInput(f"{dataset} {manifest.version} has no split that can be run ({', '.join(manifest.splits)})")
    read = [_split_of(location, manifest, name, name) for name in names]
    cases = PackedCases(case for _, some in read for case in some)
    version = f"{manifest.version}:{split}" if split else manifest.version
    # The content hash is that of all splits; one split is known by the hash of its file.
    pinned = manifest.content_hash if not split else f"sha256:{read[0][0]}"
    return Frozen(dataset, version, pinned or dataset_hash(cases), cases, _build_of(manifest, split, dataset))


def _is_readable(manifest: Manifest, split: str) -> bool:
    if holds_cases(manifest) or split in TYPES:
        return True
    attributes = shape_of(split, manifest.splits[split].model_extra or {}).keys
    return not attributes.keys().isdisjoint(INPUTS) and not attributes.keys().isdisjoint(REFERENCES)


def _split_of(path: Path, manifest: Manifest, name: str, dataset_type: str) -> tuple[str, Sequence[Case]]:
    entry: FileEntry = manifest.splits[name]
    result = locate(path, manifest, entry.path)
    if not result.is_file():
        raise BadInput(f"{result}, split {name!r} of {manifest.version}, is missing; `evergold verify` tells more")
    digest, _ = hash_file(result)
    if entry.sha256 is not None and entry.sha256.removeprefix("sha256:") != digest:
        raise Conflict(f"{result} is not the file that {manifest.version} was built with; build it again")
    if not holds_cases(manifest):
        return digest, _cases(result, _reader_of(result, dataset_type, entry))
    with open_read(result) as lines:
        rows = (row for row in map(orjson.loads, lines) if "canary" not in row)
        return digest, PackedCases(written_case({key: row[key] for key in row if key != "rev"}) for row in rows)


def _build_of(manifest: Manifest, split: str | None, dataset: str | None = None) -> dict[str, Any]:
    name = dataset or (manifest.model_extra or {}).get("dataset")
    return {"dataset": name, "version": manifest.version, "split": split, "content_hash": manifest.content_hash}


def case_of_line(split: str, line: bytes) -> Case | None:
    """The case that a run of this RAG split makes of one of its lines; None for a split that no run can take."""
    if split not in TYPES:
        return None
    return _with_recorded_output(plugins.load("formats", split).case(orjson.loads(line)))


def _with_recorded_output(case: Case) -> Case:
    return case if case.output is not None else case.model_copy(update={"output": case.expected})


def _cases(path: Path, reader: Format) -> list[Case]:
    cases: list[Case] = []
    bad: list[str] = []
    for item in reader.read(path):
        if isinstance(item, Rejected):
            bad.append(str(item))
        else:
            cases.append(_with_recorded_output(item))
    if bad:
        raise BadInput(f"{path} has records that cannot be used: {bad[0]}", problems=bad[:20])
    if not cases:
        raise BadInput(f"{path} holds no records")
    return cases
