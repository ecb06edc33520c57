"""Read the documents retrieved for an answer from retriever spans and document attributes, with source and score."""

import re
from collections.abc import Iterable
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evergold.conversation.flattened import unflattened
from evergold.conversation.nested_json import as_json, decoded
from evergold.model.case import Context
from evergold.model.nesting import Values
from evergold.model.trace import Span

TEXTS = ("content", "page_content", "pageContent", "text", "body", "snippet", "passage", "chunk", "document")
SOURCES = ("source", "url", "uri", "doc_uri", "file_path", "path", "file_name", "filename", "file", "title", "link")
LISTS = ("documents", "contexts", "nodes", "source_nodes", "results", "matches", "output", "outputs", "docs", "chunks")
ATTRIBUTES = ("reranker.output_documents", "retrieval.documents")
RETRIEVED = ("gen_ai.retrieval.documents", "retrieval.documents", "db.query.result")
DEEPEST = 5
PRINTED = re.compile(r'[\s"\[]*<[A-Za-z_][\w.]*(?:\(| object at 0x)')  # an object without a text, as Python prints it
KEPT: TypeAdapter[dict[str, Any]] = TypeAdapter(Values)


def contexts_of(spans: Iterable[Span], metadata: dict[str, Any]) -> list[Context]:
    """The passages of a trace, each once, in the order they were retrieved; those of the trace's own line first.

    A reranker's choice stands for what it chose from.
    """
    given = documents_in(metadata.get("contexts")) if metadata.get("contexts") else []
    retrieved: list[Any] = []
    reranked: list[Any] = []
    for span in spans:
        documents = _documents_of(span)
        (reranked if span.kind == "reranker" else retrieved).extend(documents)
    seen: dict[str, Context] = {}
    for document in given or reranked or retrieved:
        context = _context(document)
        # The same passage from another source is another context; without a text the whole document is compared.
        seen.setdefault(as_json([context.text, context.source]) if context.text else as_json(document), context)
    return list(seen.values())


def _documents_of(span: Span) -> list[Any]:
    if listed := span.metadata.get("contexts"):
        return documents_in(listed)
    attributes = span.metadata.get("attributes")
    attributes = attributes if isinstance(attributes, dict) else {}
    for prefix in ATTRIBUTES:
        if listed := unflattened(attributes, prefix):
            return [item.get("document", item) if isinstance(item, dict) else item for item in listed]
    for key in RETRIEVED:
        if documents := documents_in(attributes.get(key)):
            return documents
    if listed := span.metadata.get("documents"):
        return documents_in(listed)
    if span.kind not in ("retriever", "reranker"):
        return []
    # Only of retrievers: the output of any other span is an answer, not a passage.
    outputs = ("output.value", "traceloop.entity.output", "mlflow.spanOutputs", "langfuse.observation.output")
    for value in (*(attributes.get(key) for key in outputs), span.output):
        if documents := documents_in(value):
            return documents
    return [span.output] if span.output and not PRINTED.match(span.output) else []


def documents_in(value: Any, depth: int = 0) -> list[Any]:
    """The documents in a list, or in the object a retriever wraps them in."""
    document = decoded(value)
    if depth > DEEPEST:
        return []
    if isinstance(document, list):
        # Retrievers that take several questions give a list for each; there was one.
        if len(document) == 1 and isinstance(document[0], list):
            return documents_in(document[0], depth + 1)
        passages = [item for item in document if not (isinstance(item, str) and PRINTED.match(item))]
        return [decoded(item) for item in passages if isinstance(item, dict | str)]
    if isinstance(document, dict):
        for key in LISTS:
            if isinstance(inner := decoded(document.get(key)), list | dict) and (
                documents := documents_in(inner, depth + 1)
            ):
                return documents
        if any(isinstance(document.get(key), str) for key in TEXTS):
            return [document]
    return []


def _context(document: Any) -> Context:
    if not isinstance(document, dict):
        return Context(text=str(document))
    inner = document
    # LlamaIndex wraps a passage in a node, LangChain serialises its constructor's arguments.
    for key in ("document", "node", "kwargs"):
        if isinstance(wrapped := document.get(key), dict):
            inner = wrapped
            break
    text = next((inner[key] for key in TEXTS if isinstance(inner.get(key), str)), None)
    metadata = decoded(inner.get("metadata", inner.get("meta")))
    metadata = metadata if isinstance(metadata, dict) else {}
    fields = (inner, metadata, document)
    source = next((where[key] for where in fields for key in SOURCES if isinstance(where.get(key), str)), None)
    ident = next(
        (where[key] for where in fields for key in ("id", "doc_id", "id_") if where.get(key) is not None), None
    )
    score = next(
        (
            where[key]
            for where in (document, inner)
            for key in ("score", "relevance_score", "similarity")
            if key in where
        ),
        None,
    )
    rest = {"id": ident, "score": score, "metadata": metadata}
    retrieved = {key: value for key, value in rest.items() if value not in (None, {})}
    return Context(text=text, source=source if source is not None else _name(ident), retrieved=_shallow(retrieved))


def _name(ident: Any) -> str | None:
    return str(ident) if isinstance(ident, str | int) else None


def _shallow(values: dict[str, Any]) -> dict[str, Any] | None:
    try:
        KEPT.validate_python(values)
    except ValidationError:
        return {key: value for key, value in values.items() if not isinstance(value, dict | list)} or None
    return values or None
