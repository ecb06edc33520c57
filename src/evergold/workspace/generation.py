"""Documents → an offline dataset: puts the stage together with a target of the benchmarks, the call log and the settings.

No store is needed: like a RAG build, a generation reads files and writes files.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evergold.build.spec import load_spec, project_root
from evergold.errors import BadInput, Conflict
from evergold.generate.asking import Spent
from evergold.generate.corpus import Corpus, read_corpus
from evergold.generate.door import Outputs, generate
from evergold.generate.prompts import chosen_prompts
from evergold.generate.retrieve import VectorSearch
from evergold.generate.spec import GenerationSpec, load_section
from evergold.model.generation import GenerationReport
from evergold.settings import Settings
from evergold.storage import location
from evergold.workspace.cluster import settings_to_send, workers_of
from evergold.workspace.generation_calls import open_calls
from evergold.workspace.generation_parts import DocumentWork, library_of, maker_of
from evergold.workspace.generation_support import judge_of, open_support

if TYPE_CHECKING:
    from evergold.scale.executors import Workers


@dataclass(frozen=True)
class GenerationPlan:
    """What will be made, every path absolute."""

    spec: GenerationSpec
    folder: Path
    outputs: Outputs
    resume: bool | None = None
    """True: an output that is there is replaced, and answered calls are not repeated; False: all calls anew."""

    def require_room(self) -> None:
        if self.resume is None and self.outputs.dataset.exists():
            raise Conflict(
                f"{self.outputs.dataset} is already there; --resume makes it again without repeating calls that were "
                "answered, --fresh asks everything anew, --out FILE leaves it alone"
            )
        # A dataset inside the folder would be read as a document by the next generation.
        inside = self.outputs.dataset.resolve().is_relative_to(self.folder.resolve())
        if inside:
            raise BadInput(f"{self.outputs.dataset} is inside the documents; write it elsewhere with --out FILE")


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
        plan = GenerationPlan(spec, folder, Outputs(output), resume)
        plan.require_room()
        # Wrong prompts and judges are errors of the plan, before documents are read for minutes.
        chosen_prompts(spec.prompts)
        judge_of(spec, self._settings)
        return plan

    def read(self, plan: GenerationPlan, seen: Callable[[str], None] | None = None) -> Corpus:
        """The documents of a plan."""
        return read_corpus(plan.folder, plan.spec, seen)

    def generate(
        self,
        plan: GenerationPlan,
        corpus: Corpus | None = None,
        progress: Callable[[int], None] | None = None,
        cluster: str | None = None,
    ) -> GenerationReport:
        """Makes the dataset; what was finished before is not asked again.

        With the address of a Dask cluster its workers call the model and the judge, under one budget; without a model
        they make the records of whole documents, which they see under the same path.
        """
        with workers_of(cluster) as workers:
            return asyncio.run(self._generate(plan, corpus or self.read(plan), progress, workers))

    async def _generate(
        self,
        plan: GenerationPlan,
        corpus: Corpus,
        progress: Callable[[int], None] | None,
        workers: "Workers | None",
    ) -> GenerationReport:
        spec, spent = plan.spec, Spent()
        whole = workers is not None and not spec.model and spec.retrieval.method == "bm25"
        if workers is not None:
            spec = spec.model_copy(update={"concurrency": min(spec.concurrency, workers.count)})
        async with (
            open_calls(
                spec, plan.outputs.log, self._settings, spent, fresh=plan.resume is False, workers=workers
            ) as calls,
            open_support(spec, self._settings, None if whole else workers) as supports,
        ):
            made = {"ask": calls.chat.ask, "identity": calls.chat.target.identity} if calls.chat else {"ask": None}
            search = VectorSearch(corpus.passages, calls.embed) if calls.embed else None
            more: dict[str, Any] = {"supports": supports}
            if whole and workers is not None:
                more |= {"work": self._work(plan, corpus), "executor": workers.executor}
            maker = maker_of(spec, made, library_of(corpus, spec, search), corpus, **more)
            return await generate(corpus, maker, plan.outputs, spent.as_report, progress)

    def _work(self, plan: GenerationPlan, corpus: Corpus) -> DocumentWork:
        sent = settings_to_send(self._settings)
        return DocumentWork(str(plan.folder.absolute()), plan.spec.model_dump_json(), corpus.content_hash, sent)
