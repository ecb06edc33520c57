"""Documents → an offline dataset: puts the stage together with a target of the benchmarks, the call log and the settings.

No store is needed: like a RAG build, a generation reads files and writes files.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evergold import plugins
from evergold.build.spec import load_spec, project_root
from evergold.errors import BadInput, Conflict
from evergold.generate.calls import judge_of, open_calls, open_support
from evergold.generate.documents import Corpus, read_corpus
from evergold.generate.maker import Maker, Outputs, generate
from evergold.generate.model_writer import Spent, chosen_prompts
from evergold.generate.passages import Library, VectorSearch, WordSearch
from evergold.generate.spec import GenerationSpec, load_section
from evergold.model.generation import GenerationReport
from evergold.seams import Writer
from evergold.settings import Settings
from evergold.storage import location


@dataclass(frozen=True)
class GenerationPlan:
    """What will be made, every path absolute."""

    spec: GenerationSpec
    folder: Path
    outputs: Outputs
    resume: bool | None = None
    """True: an output that is there is replaced, and answered calls are not repeated; False: all calls anew."""


class Generation:
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def plan(self, config: Path | None, flags: Mapping[str, Any], resume: bool | None = None) -> GenerationPlan:
        """From a config file and flags (documents, output, model, limit). The output is the file a build reads."""
        spec = load_section(config, dict(flags))
        root = project_root(config)
        if not spec.documents:
            raise BadInput("no documents are named; give --documents DIR, or `documents` in the generation section")
        output = root / location(spec.output) if spec.output else load_spec(config, {}).source
        documents = location(spec.documents)
        folder = documents if flags.get("documents") else root / documents
        if resume is None and output.exists():
            raise Conflict(
                f"{output} is already there; --resume makes it again without repeating calls that were "
                "answered, --fresh asks everything anew, --out FILE leaves it alone"
            )
        # A dataset inside the folder would be read as a document by the next generation.
        if output.resolve().is_relative_to(folder.resolve()):
            raise BadInput(f"{output} is inside the documents; write it elsewhere with --out FILE")
        # Wrong prompts and judges are errors of the plan, before documents are read for minutes.
        chosen_prompts(spec.prompts)
        judge_of(spec, self._settings)
        return GenerationPlan(spec, folder, Outputs(output), resume)

    def read(self, plan: GenerationPlan, seen: Callable[[str], None] | None = None) -> Corpus:
        """The documents of a plan."""
        return read_corpus(plan.folder, plan.spec, seen)

    def generate(
        self, plan: GenerationPlan, corpus: Corpus | None = None, progress: Callable[[int], None] | None = None
    ) -> GenerationReport:
        """Makes the dataset; what was finished before is not asked again."""
        return asyncio.run(self._generate(plan, corpus or self.read(plan), progress))

    async def _generate(
        self, plan: GenerationPlan, corpus: Corpus, progress: Callable[[int], None] | None
    ) -> GenerationReport:
        spec, spent, prompts = plan.spec, Spent(), chosen_prompts(plan.spec.prompts)
        async with (
            open_calls(spec, plan.outputs.log, self._settings, spent, fresh=plan.resume is False) as (chat, embed),
            open_support(spec, self._settings) as supports,
        ):
            parts = {"ask": chat.ask, "identity": chat.target.identity} if chat else {"ask": None}
            writer: Writer = plugins.load("writers", spec.writer_name, **parts, prompts=prompts)
            passages = corpus.passages
            search = VectorSearch(passages, embed) if embed else WordSearch(passages)
            library = Library(passages, search, spec.seed)
            maker = Maker(spec, writer, library, prompts, spec.run_id(corpus.content_hash), supports=supports)
            return await generate(corpus, maker, plan.outputs, spent, progress)
