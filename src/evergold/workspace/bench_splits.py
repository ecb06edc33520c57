"""`--dataset-type qa|summaries`: the split files of a build as they are, pinned by the manifest beside them.

What was recorded of such a case is its reference: the offline generator's own answer. Measured with `--model recorded`, it
shows whether the references themselves are grounded and cited.
"""

from pathlib import Path

from evergold import plugins
from evergold.build.manifest import hash_file, locate
from evergold.build.manifest import read as read_manifest
from evergold.errors import BadInput, unknown
from evergold.model.case import Case
from evergold.model.rejected import Rejected
from evergold.seams import Format

TYPES = ("qa", "summaries")


def read_split(path: Path, dataset_type: str) -> tuple[str, str, list[Case]]:
    """Version, content hash and cases of a split: of the file itself, or of the one that a manifest names."""
    if dataset_type not in TYPES:
        raise BadInput(unknown("dataset type", dataset_type, TYPES))
    if not path.is_file():
        raise BadInput(f"no file {str(path)!r}; give a split file, or the manifest of a build")
    version = ""
    if path.suffix == ".json":
        manifest = read_manifest(path)
        version = manifest.version
        name = next((name for name in manifest.splits if name in (dataset_type, f"{dataset_type}_pairs")), None)
        if name is None:
            raise BadInput(f"{path}: {unknown('split', dataset_type, tuple(manifest.splits))}")
        path = locate(path, manifest, manifest.splits[name].path)
    digest, _ = hash_file(path)
    return version or digest[:12], f"sha256:{digest}", _cases(path, dataset_type)


def _cases(path: Path, dataset_type: str) -> list[Case]:
    reader: Format = plugins.load("formats", dataset_type)
    cases: list[Case] = []
    bad: list[str] = []
    for item in reader.read(path):
        if isinstance(item, Rejected):
            bad.append(str(item))
        else:
            cases.append(item if item.output is not None else item.model_copy(update={"output": item.expected}))
    if bad:
        raise BadInput(f"{path} has records that cannot be used: {bad[0]}", problems=bad[:20])
    if not cases:
        raise BadInput(f"{path} holds no records")
    return cases
