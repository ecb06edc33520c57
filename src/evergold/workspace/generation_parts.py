"""Documents of a generation as parts of work: without a model to call, workers make the records of whole documents."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from evergold import plugins
from evergold.calls.elsewhere import done_elsewhere
from evergold.errors import Unavailable
from evergold.generate.corpus import Corpus, read_corpus
from evergold.generate.maker import Maker, Outcome
from evergold.generate.prompts import chosen_prompts
from evergold.generate.retrieve import Library, Search, WordSearch
from evergold.generate.spec import GenerationSpec
from evergold.model.generation import Passage
from evergold.seams import Writer
from evergold.settings import Settings
from evergold.storage import location
from evergold.workspace.generation_support import open_support

if TYPE_CHECKING:
    from concurrent.futures import Executor


@dataclass(frozen=True)
class DocumentWork:
    """What a worker needs to make the records of a document; it reads the documents under the same path."""

    folder: str
    spec_json: str
    content_hash: str
    settings: Settings


@dataclass(frozen=True)
class MakerElsewhere(Maker):
    """A maker whose documents are worked on by workers; what it knows itself is for the report."""

    work: DocumentWork | None = None
    executor: "Executor | None" = None

    async def of_document(self, name: str, passages: Sequence[Passage]) -> list[Outcome]:
        assert self.executor is not None
        return await done_elsewhere(self.executor, make_document, self.work, name)


def make_document(work: DocumentWork, name: str) -> list[Outcome]:
    """Make the records of one document; what a worker does."""
    return asyncio.run(_made(work, name))


async def _made(work: DocumentWork, name: str) -> list[Outcome]:
    corpus, library = _read(work.folder, work.spec_json)
    if corpus.content_hash != work.content_hash:
        raise Unavailable(
            f"a worker sees other documents in {work.folder!r} than this process; give both the same ones"
        )
    spec = GenerationSpec.model_validate_json(work.spec_json)
    async with open_support(spec, work.settings) as supports:
        maker = maker_of(spec, {"ask": None}, library, corpus, supports=supports)
        return await maker.of_document(name, corpus.documents[name])


def maker_of(spec: GenerationSpec, calls: Mapping[str, Any], library: Library, corpus: Corpus, **more: Any) -> Maker:
    """The maker of a generation; `calls` are what its writer may ask."""
    prompts = chosen_prompts(spec.prompts)
    writer: Writer = plugins.load("writers", spec.writer_name, **calls, prompts=prompts)
    kind = MakerElsewhere if "work" in more else Maker
    return kind(spec, writer, library, prompts, spec.run_id(corpus.content_hash), **more)


def library_of(corpus: Corpus, spec: GenerationSpec, search: Search | None = None) -> Library:
    passages = corpus.passages
    return Library(passages, search or WordSearch(passages), spec.seed)


@lru_cache(maxsize=1)
def _read(folder: str, spec_json: str) -> tuple[Corpus, Library]:
    """The documents and the index over them, once for all documents that a worker makes."""
    spec = GenerationSpec.model_validate_json(spec_json)
    corpus = read_corpus(location(folder), spec)
    return corpus, library_of(corpus, spec)
