"""Everything that is read: the documents of a folder as passages, and the files that could not be used."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from evergold.errors import Incomplete
from evergold.generate.chunks import passages
from evergold.generate.documents import read_documents
from evergold.generate.spec import GenerationSpec
from evergold.model.generation import Passage, Skipped
from evergold.model.ident import content_hash, hash_bytes

_SHOWN = 20


@dataclass
class Corpus:
    """Passages by document, in the order of the documents' names. The texts themselves are let go."""

    documents: dict[str, list[Passage]] = field(default_factory=dict)
    hashes: dict[str, str] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def passages(self) -> list[Passage]:
        return [passage for some in self.documents.values() for passage in some]

    @property
    def content_hash(self) -> str:
        return content_hash(self.hashes)


def read_corpus(folder: Path, spec: GenerationSpec, seen: Callable[[str], None] | None = None) -> Corpus:
    """Raises `Incomplete` when no file of the folder can be used, with the reasons."""
    corpus = Corpus()
    for item in read_documents(folder, spec.limits):
        if isinstance(item, Skipped):
            corpus.skipped.append(item)
            continue
        # Passages carry their own text, so the document is not kept: a folder may be larger than memory.
        corpus.documents[item.name] = passages(item, spec.chunks)
        corpus.hashes[item.name] = hash_bytes(item.text.encode())
        if seen:
            seen(item.name)
    if not corpus.documents:
        reasons = [f"{one.name}: {one.reason}" + (f" ({one.detail})" if one.detail else "") for one in corpus.skipped]
        count = f"{len(reasons)} files cannot be used" if reasons else "it is empty"
        raise Incomplete(f"no document in {str(folder)!r}: {count}", problems=reasons[:_SHOWN])
    return corpus
