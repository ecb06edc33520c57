"""Compare what a record names as its source with the sources of its contexts.

A record that names the document it was made from (`metadata.source_path`, or `document` where that is a file) has at least
one context from it, and a citation names the source of a context. Documents are compared by their file name without ending,
page and folder: `raw/2510.25529.pdf` and `processed/2510.25529.txt#page=28` are the same document.
"""

import re
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

import msgspec
import orjson

from evergold.build.records import CITATIONS, CitedSource, Metadata, is_label

# An ending begins with a letter: in `2510.25529` the digits after the dot are part of the name.
_ENDING = re.compile(r"\.[A-Za-z]\w{0,5}$")


def source_problem(record: Any) -> str | None:
    """What does not match in a record; None where everything matches, or nothing can be compared."""
    sources = getattr(record, "sources", None)
    if not isinstance(sources, list) or not sources or not getattr(record, "contexts", None):
        return None
    # Titles and row numbers are no locations; without any location there is nothing to compare.
    known = {document_of(source) for source in sources if is_location(source)}
    if not known:
        return None
    name, path = _document(getattr(record, "metadata", None))
    if path and document_of(path) not in known:
        return f"none of its {len(sources)} contexts comes from {name} {path!r}; the first is from {sources[0]!r}"
    # Both names occur: of the record, and of the answer alone.
    for field in CITATIONS:
        for citation in getattr(record, field, None) or ():
            problem = _cited_wrongly(citation, record, known)
            if problem:
                return f"{field}: {problem}"
    return None


@lru_cache(maxsize=4096)
def document_of(source: str) -> str:
    """The name of a document, however its page, folder and ending are written."""
    path = re.split(r"[#?]", unquote(source), maxsplit=1)[0].replace("\\", "/").rstrip("/")
    name = path.rpartition("/")[2].casefold()
    return _ENDING.sub("", name) or name


@lru_cache(maxsize=4096)
def is_location(source: str) -> bool:
    """Whether a source is a path or an address; the number of a row or a title cannot be compared with one."""
    return bool("/" in source or "\\" in source or "#" in source or _ENDING.search(source))


def _document(metadata: Any) -> tuple[str, str]:
    """The key and the value of the metadata that name the document of a record."""
    if not isinstance(metadata, Metadata):
        return "", ""
    path = _text(metadata.source_path)
    if path:
        return "metadata.source_path", path
    document = _text(metadata.document)
    return ("metadata.document", document) if is_location(document) else ("", "")


def _cited_wrongly(citation: CitedSource, record: Any, known: set[str]) -> str | None:
    source = _text(citation.source) if isinstance(citation, CitedSource) else ""
    if not is_location(source):
        return None
    if document_of(source) not in known:
        return f"{source!r} is the source of no context"
    marker = bytes(citation.marker).decode()
    if marker.isdigit() and is_label(marker, record.contexts) and int(marker) <= len(record.sources):
        own = record.sources[int(marker) - 1]
        if is_location(own) and document_of(own) != document_of(source):
            return f"[{marker}] names {source!r}, its context comes from {own!r}"
    return None


def _text(raw: msgspec.Raw) -> str:
    """A JSON text; empty for anything else."""
    if not raw or memoryview(raw)[0] != ord('"'):
        return ""
    return str(orjson.loads(memoryview(raw)))
