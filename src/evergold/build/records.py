"""The records of a split file, decoded only as far as a check needs: the schema is enforced while decoding."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import orjson

from evergold.build.manifest import CASE_SCHEMA
from evergold.build.splits import SPLITS, Kind
from evergold.model.build import Manifest
from evergold.model.case import Case

REFERENCES = ("reference_answer", "reference_summary", "reference_context")
INPUTS = ("question", "instruction")


class AnyObject(msgspec.Struct):
    """Some JSON object whose content is not looked at."""


class Metadata(msgspec.Struct):
    """The one key of the metadata that drift is measured by."""

    tags: msgspec.Raw = msgspec.Raw(b"[]")


_TYPES: dict[Kind, Any] = {
    "text": msgspec.Raw,
    "texts": list[msgspec.Raw],
    "contexts": list[msgspec.Raw],
    "objects": list[AnyObject],
    "object": AnyObject,
    "any": msgspec.Raw,
}
_TEXTS = frozenset({"text", "texts", "contexts"})
_QUOTE = ord('"')
_decode_tags = msgspec.json.Decoder(list[str]).decode


def fields_of(split: str, entry_fields: Any) -> Mapping[str, Kind]:
    """The fields a split's records must have: as the manifest declares them, or those of the shipped split."""
    if isinstance(entry_fields, dict):
        return entry_fields
    if split in SPLITS:
        return {column.name: column.kind for column in SPLITS[split].columns if not column.optional}
    return {"metadata": "object"}


def record_type(fields: Mapping[str, Kind]) -> type:
    """A msgspec type that refuses a record without these fields, or with one of the wrong kind."""
    members: list[tuple[str, Any]] = [("task_id", str), ("task_type", str)]
    for name, kind in fields.items():
        if name in (*INPUTS, *REFERENCES):
            members.append((name, str))
        elif name not in ("task_id", "task_type"):
            members.append((name, Metadata if name == "metadata" else _TYPES[kind]))
    return msgspec.defstruct("Record", members)


def require_texts(record: Any, fields: Mapping[str, Kind]) -> None:
    """Texts that nobody reads are not decoded, only looked at: raises ValueError for one that is something else."""
    for name, kind in fields.items():
        value = getattr(record, name)
        if isinstance(value, msgspec.Raw):
            value = [value] if kind == "text" else []
        if kind in _TEXTS and isinstance(value, list) and any(memoryview(raw)[0] != _QUOTE for raw in value):
            raise ValueError(f"Expected `str` - in `{name}`")


@dataclass(frozen=True)
class CaseRecord:
    """A frozen case, seen as a check sees any record."""

    task_id: str
    task_type: str
    question: str
    reference_answer: str
    tags: list[str]


def decode_case(line: bytes) -> CaseRecord | None:
    """A line of a frozen dataset; None for the canary. Raises ValueError for anything that is no case."""
    row = orjson.loads(line)
    if isinstance(row, dict) and "canary" in row:
        return None
    row.pop("rev", None)
    case = Case.model_validate(row)
    reference = case.expected or case.output or ("paths" if case.paths else "")
    return CaseRecord(case.id, f"{case.kind}/{case.entry_type}", case.input, reference, list(case.tags))


def decoder_of(manifest: Manifest, split: str) -> Callable[[bytes], Any]:
    """What decodes the lines of a split: cases of a frozen dataset, or records with the fields that it declares."""
    if (manifest.model_extra or {}).get("schema") == CASE_SCHEMA:
        return decode_case
    fields = fields_of(split, (manifest.splits[split].model_extra or {}).get("fields"))
    return msgspec.json.Decoder(record_type(fields)).decode


def tags_of(record: Any) -> list[str]:
    """The tags of a record; metadata whose tags are not a list of texts has none."""
    if isinstance(record, CaseRecord):
        return record.tags
    metadata = getattr(record, "metadata", None)
    if not isinstance(metadata, Metadata):
        return []
    try:
        return _decode_tags(metadata.tags)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return []


def first_text(record: Any, names: tuple[str, ...]) -> str | None:
    return next((getattr(record, name) for name in names if hasattr(record, name)), None)
