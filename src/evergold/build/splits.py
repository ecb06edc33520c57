"""Splits as data: what a split accepts, where each of its fields comes from, and what it cannot do without.

A new split is one more entry in `SPLITS` (or one more table in a config file), never a new code path. Every column
names its sources in order of preference; the first one a record really fills wins. A dotted source looks inside `rag`,
and the same name at top level is its natural fallback.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from evergold.errors import BadInput, unknown

Kind = Literal["text", "texts", "contexts", "objects", "object", "any"]
KINDS: tuple[Kind, ...] = get_args(Kind)
LIST_KINDS = frozenset({"texts", "contexts", "objects"})
ALIGNED = ("contexts", "sources", "retrieved")
"""Lists that pair up place by place."""
EMPTY: Mapping[Kind, bytes] = {
    "text": b'""',
    "texts": b"[]",
    "contexts": b"[]",
    "objects": b"[]",
    "object": b"{}",
    "any": b"null",
}


@dataclass(frozen=True)
class Column:
    """One field of a split's records."""

    name: str
    sources: tuple[str, ...]
    kind: Kind = "text"
    required: bool = False
    optional: bool = False
    """Left out of a record that does not have it, instead of being written empty."""


@dataclass(frozen=True)
class Split:
    """One output file: the task types it takes and the columns of its records, in order."""

    name: str
    task_types: tuple[str, ...]
    columns: tuple[Column, ...]
    file_name: str


def in_rag(name: str) -> tuple[str, ...]:
    """A field of `rag`, which may also stand at top level."""
    return (f"rag.{name}", name)


ENVELOPE = (
    Column("rag_prompt", (*in_rag("prompt"), "rag_prompt")),
    Column("contexts", in_rag("contexts"), "contexts"),
    Column("sources", in_rag("sources"), "texts"),
    Column("scores", in_rag("scores"), "any", optional=True),
    Column("retrieved", in_rag("retrieved"), "objects"),
    Column("citations", in_rag("citations"), "objects"),
)
METADATA = Column("metadata", ("metadata",), "object")
ANSWER_CITATIONS = Column("answer_citations", ("answer_citations", *in_rag("citations")), "objects")
QUESTION = Column("question", ("instruction", "question"), required=True)
ANSWER = Column("reference_answer", ("expected_response", "answer"), required=True)

SPLITS: Mapping[str, Split] = {
    split.name: split
    for split in (
        Split("qa", ("qa",), (QUESTION, ANSWER, *ENVELOPE, ANSWER_CITATIONS, METADATA), "qa_pairs.jsonl"),
        Split(
            "summaries",
            ("summaries",),
            (
                Column("instruction", ("instruction", "prompt", "question"), required=True),
                Column("reference_summary", ("expected_response", "response", "answer"), required=True),
                *ENVELOPE,
                METADATA,
            ),
            "summaries.jsonl",
        ),
        Split(
            "citations",
            ("citations",),
            (QUESTION, ANSWER, *ENVELOPE, ANSWER_CITATIONS, METADATA),
            "citations.jsonl",
        ),
        Split(
            "contextualizations",
            ("contextualizations",),
            (
                Column("instruction", ("instruction", "prompt", "question"), required=True),
                Column("reference_context", ("expected_response", "response", "answer"), required=True),
                *ENVELOPE,
                METADATA,
            ),
            "contextualizations.jsonl",
        ),
    )
}
DEFAULT_SPLITS = ("qa", "summaries")
SPLIT_KEYS = ("output", "task_types", "fields", "file")
FIELD_KEYS = ("from", "kind", "required")
GIVEN = ("task_id", "task_type", "extra")
_PLAIN = re.compile(r"[\w-]+")


def declared(name: str, table: Mapping[str, Any]) -> Split:
    """A split from a config file: a shipped one under its own name, or a table of its own."""
    base = SPLITS.get(name)
    if not _PLAIN.fullmatch(name):
        raise BadInput(f"split {name!r}: a split is named by letters, digits, - and _")
    for key in table:
        if key not in SPLIT_KEYS:
            raise BadInput(f"split {name!r}: {unknown('key', str(key), SPLIT_KEYS)}")
    if base is None and "fields" not in table:
        raise BadInput(f"split {name!r} is not a shipped one ({', '.join(SPLITS)}): give it `fields`")
    # A split of one's own has the envelope as well, so that contexts and sources are checked in it.
    columns = base.columns if base else (*ENVELOPE, METADATA)
    if "fields" in table:
        own = _columns(name, table["fields"])
        # A field of one's own replaces the column of that name in the envelope.
        kept = tuple(column for column in (*ENVELOPE, METADATA) if column.name not in {field.name for field in own})
        columns = (*own, *kept)
    task_types = _texts(f"split {name!r}, task_types", table.get("task_types", base.task_types if base else (name,)))
    file_name = table.get("file", base.file_name if base else f"{name}.jsonl")
    # A name with a slash would leave the folder of the build.
    if not isinstance(file_name, str) or "/" in file_name or not file_name.strip("."):
        raise BadInput(f"split {name!r}: file must be the name of a file, got {file_name!r}")
    return Split(name, tuple(kind.strip().casefold() for kind in task_types), columns, file_name)


def _texts(where: str, value: Any) -> tuple[str, ...]:
    """One text or a list of them; YAML makes numbers and dates of what is not quoted."""
    texts = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, (list, tuple)) else ()
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise BadInput(f"{where}: write a text or a list of texts, got {value!r}")
    return texts


def _columns(split: str, fields: Any) -> tuple[Column, ...]:
    if not isinstance(fields, dict) or not fields:
        raise BadInput(f"split {split!r}: fields must be a table, as in `question: [instruction]`; got {fields!r}")
    for name in fields:
        if not isinstance(name, str) or not name or name in GIVEN:
            raise BadInput(
                f"split {split!r}: {name!r} cannot be a field of its own ({', '.join(GIVEN)} come by themselves)"
            )
    return tuple(_column(split, name, spec) for name, spec in fields.items())


def _column(split: str, name: str, spec: Any) -> Column:
    """`question: {from: [instruction, question], required: true}`, or just the list of sources."""
    where = f"split {split!r}, field {name!r}"
    if isinstance(spec, (list, str)):
        spec = {"from": spec}
    if not isinstance(spec, dict) or "from" not in spec:
        raise BadInput(f"{where}: write `from: [source, …]`, got {spec!r}")
    for key in spec:
        if key not in FIELD_KEYS:
            raise BadInput(f"{where}: {unknown('key', str(key), FIELD_KEYS)}")
    sources = _texts(f"{where}, from", spec["from"])
    kind, required = spec.get("kind", "text"), spec.get("required", False)
    if kind not in KINDS:
        raise BadInput(f"{where}: {unknown('kind', str(kind), KINDS)}")
    if not isinstance(required, bool):
        raise BadInput(f"{where}: required is true or false, got {required!r}")
    # Only `rag` is opened while reading; a deeper path would silently find nothing.
    deep = [source for source in sources if "." in source and not source.startswith("rag.")]
    if deep:
        raise BadInput(f"{where}: source {deep[0]!r} is too deep; only `rag.` can be looked into")
    return Column(name, sources, kind, required=required)
