"""The records of a split file, decoded only as far as a check needs: the schema is enforced while decoding."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import orjson

from evergold.build.manifest import holds_cases
from evergold.build.spec import KINDS, SPLITS, Kind
from evergold.errors import BadInput, describe_unknown
from evergold.model.build import Manifest
from evergold.model.case import written_case

REFERENCES = ("reference_answer", "reference_summary", "reference_context")
INPUTS = ("question", "instruction")
CITATIONS = ("citations", "answer_citations")


class AnyObject(msgspec.Struct):
    """Some JSON object whose content is not looked at."""


class Metadata(msgspec.Struct):
    """The keys of the metadata that a check reads: tags for drift, and the document that a record was made from."""

    tags: msgspec.Raw = msgspec.Raw(b"[]")
    source_path: msgspec.Raw = msgspec.Raw(b"")
    document: msgspec.Raw = msgspec.Raw(b"")


class CitedSource(msgspec.Struct):
    """A citation, as far as it is compared with the sources of the contexts."""

    marker: msgspec.Raw = msgspec.Raw(b"")
    source: msgspec.Raw = msgspec.Raw(b"")


_TYPES: dict[Kind, Any] = {
    "text": msgspec.Raw,
    "texts": list[str],
    "contexts": list[msgspec.Raw],
    "objects": list[AnyObject],
    "object": AnyObject,
    "any": msgspec.Raw,
}
_MARKER = re.compile(r"\[(\d+)\]")
_LABEL = re.compile(rb'"\[(\d+)\]')
_QUOTE = ord('"')
_decode_tags = msgspec.json.Decoder(list[str]).decode


class RecordShape(NamedTuple):
    """The fields of a split's records under the names that a check knows them by, and the keys they have in the file."""

    fields: Mapping[str, Kind]
    keys: Mapping[str, str]


def shape_of(split: str, entry: Mapping[str, Any]) -> RecordShape:
    """Of a split of one's own the first required text is what is asked and the last is the reference, whatever their names."""
    # As the manifest declares them, else those of the shipped split.
    fields: Mapping[str, Kind] = {"metadata": "object"}
    if isinstance(declared := entry.get("fields"), dict):
        if unknown := [kind for kind in declared.values() if kind not in KINDS]:
            described = describe_unknown("kind", str(unknown[0]), KINDS)
            raise BadInput(f"the manifest's fields of split {split!r}: {described}")
        fields = declared
    elif split in SPLITS:
        fields = {column.name: column.kind for column in SPLITS[split].columns if not column.optional}
    # Order is that of the table: what is asked comes first, the reference last.
    required = [name for name in entry.get("required") or () if fields.get(name) == "text"]
    plain = [name for name in required if name not in (*INPUTS, *REFERENCES)]
    roles: dict[str, str] = {}
    if plain and fields.keys().isdisjoint(INPUTS):
        roles[plain.pop(0)] = INPUTS[0]
    if plain and fields.keys().isdisjoint(REFERENCES):
        roles[plain.pop()] = REFERENCES[0]
    keys = {
        # A key that is no Python name gets one for the struct; `rename` keeps its spelling in the file.
        roles.get(name) or (name if name.isidentifier() else f"field_{index}"): name
        for index, name in enumerate(fields)
    }
    return RecordShape({attribute: fields[name] for attribute, name in keys.items()}, keys)


def record_type(fields: Mapping[str, Kind], keys: Mapping[str, str] | None = None) -> type:
    """A msgspec type that refuses a record without these fields, or with one of the wrong kind."""
    members: list[tuple[str, Any]] = [("task_id", str), ("task_type", str)]
    for name, kind in fields.items():
        if name in (*INPUTS, *REFERENCES):
            members.append((name, str))
        elif name in CITATIONS and kind == "objects":
            members.append((name, list[CitedSource]))
        elif name not in ("task_id", "task_type"):
            members.append((name, Metadata if name == "metadata" else _TYPES[kind]))
    return msgspec.defstruct("Record", members, rename=dict(keys or {}))


def require_texts(record: Any, fields: Mapping[str, Kind]) -> None:
    """Texts that nobody reads are not decoded, only looked at: raises ValueError for one that is something else."""
    for name, kind in fields.items():
        value = getattr(record, name)
        texts = [value] if kind == "text" and isinstance(value, msgspec.Raw) else value if kind == "contexts" else []
        # A value that is not read is only tested for being text; decoding all of it would double the time.
        if any(memoryview(raw)[0] != _QUOTE for raw in texts):
            raise ValueError(f"Expected `str` - in `{name}`")


def unknown_markers(reference: str, contexts: Sequence[msgspec.Raw]) -> list[str]:
    """The markers like [3] that point at no context; a text without contexts may have brackets of its own."""
    markers = set(_MARKER.findall(reference))
    if not contexts or all(is_label(marker, contexts) for marker in markers):
        return []
    labels = {label[1].decode() for raw in contexts if (label := _LABEL.match(raw))}
    unknown = markers - (labels or {str(index) for index in range(1, len(contexts) + 1)})
    return sorted(unknown, key=lambda marker: (len(marker), marker))


def is_label(marker: str, contexts: Sequence[msgspec.Raw]) -> bool:
    """Whether the context at the place that a marker names is labelled with it, as it should be."""
    # A marker of nine digits or more names no context, and int() of thousands of digits is slow.
    index = int(marker) - 1 if len(marker) < 9 else -1
    if not 0 <= index < len(contexts):
        return False
    label = b'"[%b]' % marker.encode()
    return memoryview(contexts[index])[: len(label)] == label


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
    if not isinstance(row, dict):
        raise ValueError(f"expected an object, got {type(row).__name__}")
    if "canary" in row:
        return None
    row.pop("rev", None)
    case = written_case(row)
    own_reference = case.reference()
    # A context case has no text to refer to: its paths are the reference.
    reference = (own_reference and own_reference.text) or case.output or ("paths" if case.paths else "")
    return CaseRecord(case.id, f"{case.kind}/{case.entry_type}", case.input, reference, list(case.tags))


def decoder_of(manifest: Manifest, split: str) -> Callable[[bytes], Any]:
    """What decodes the lines of a split: cases of a frozen dataset, or records with the fields that it declares."""
    if holds_cases(manifest):
        return decode_case
    return msgspec.json.Decoder(record_type(*shape_of(split, manifest.splits[split].model_extra or {}))).decode


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
