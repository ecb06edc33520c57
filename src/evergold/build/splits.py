"""Splits as data: what a split accepts, where each of its fields comes from, and what it cannot do without.

A new split is one more entry in `SPLITS` (or one more table in a config file), never a new code path. Every column
names its sources in order of preference; the first one a record really fills wins. A dotted source looks inside `rag`,
and the same name at top level is its natural fallback.
"""

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


def declared(name: str, table: Mapping[str, Any]) -> Split:
    """A split from a config file: a shipped one under its own name, or a table of its own."""
    base = SPLITS.get(name)
    allowed = ("task_types", "fields", "file")
    for key in table:
        if key not in allowed:
            raise BadInput(f"split {name!r}: {unknown('key', key, allowed)}")
    if base is None and "fields" not in table:
        raise BadInput(f"split {name!r} is not a shipped one ({', '.join(SPLITS)}): give it `fields`")
    columns = base.columns if base else (*ENVELOPE, METADATA)
    if "fields" in table:
        own = tuple(_column(name, field, spec) for field, spec in table["fields"].items())
        kept = tuple(column for column in (*ENVELOPE, METADATA) if column.name not in {field.name for field in own})
        columns = (*own, *kept)
    task_types = tuple(
        kind.strip().casefold() for kind in table.get("task_types", base.task_types if base else (name,))
    )
    return Split(name, task_types, columns, table.get("file", base.file_name if base else f"{name}.jsonl"))


def _column(split: str, name: str, spec: Any) -> Column:
    """`question: {from: [instruction, question], required: true}`, or just the list of sources."""
    if isinstance(spec, (list, str)):
        spec = {"from": spec}
    if not isinstance(spec, dict) or "from" not in spec:
        raise BadInput(f"split {split!r}, field {name!r}: write `from: [source, …]`, got {spec!r}")
    sources = [spec["from"]] if isinstance(spec["from"], str) else spec["from"]
    kind = spec.get("kind", "text")
    if kind not in KINDS:
        raise BadInput(f"split {split!r}, field {name!r}: {unknown('kind', str(kind), KINDS)}")
    deep = [source for source in sources if "." in source and not source.startswith("rag.")]
    if deep:
        raise BadInput(
            f"split {split!r}, field {name!r}: source {deep[0]!r} is too deep; only `rag.` can be looked into"
        )
    return Column(name, tuple(sources), kind, required=bool(spec.get("required", False)))
