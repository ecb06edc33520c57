"""Documents → an offline dataset, what was refused, and a report: all three or none.

The same steps for every writer. A writer that quotes and a model that writes meet the same rules: an answer must cite, only
what is there, and what the cited passages support. What is not cited as asked is written once more, and then refused and
kept with the reason.

Documents are worked on side by side and written in order, so that a run of yesterday and one of today give the same
bytes, however fast the calls came back. Near-copies are refused last, where the order decides who was first.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from uuid import NAMESPACE_URL, uuid5

import orjson

from evergold.calls.caller import gather_results
from evergold.errors import EvergoldError, Incomplete
from evergold.formats.atomic import FileSet
from evergold.generate.documents import Corpus
from evergold.generate.extractive import templates_of
from evergold.generate.model_writer import Spent, answer_prompt, number_passages
from evergold.generate.passages import Library, flatten
from evergold.generate.spec import GenerationSpec
from evergold.model.generation import Draft, GenerationReport, Idea, Passage, RetrievedPassage, WritingTask
from evergold.model.values import canonical_json, unit_interval
from evergold.seams import Writer
from evergold.text.likeness import NearIndex, normalise, shingles_of
from evergold.text.markers import cited_sentences, is_claim, marker_spans, markers, without_markers

_SHOWN = 80
T = TypeVar("T")


async def _call_writer(call: Callable[[], Awaitable[T]], otherwise: Callable[[str], T]) -> T:
    """Await a writer; what one of a plug-in raises is the problem of that idea or draft alone."""
    try:
        return await call()
    except EvergoldError:
        raise
    except Exception as problem:
        return otherwise(f"the writer raised {type(problem).__name__}: {problem}")


def problems_with(text: str, contexts: int, require: str) -> list[str]:
    """What is wrong with the citations of a text, in words for whoever writes it again; empty: nothing."""
    if not without_markers(text).strip():
        return ["there is no text"]
    result = markers(text)
    problems = []
    wrong = sorted({number for number in result if not 1 <= number <= contexts})
    if wrong:
        listed = ", ".join(f"[{number}]" for number in wrong)
        problems.append(f"{listed} is not among the {contexts} passages")
    if require == "answer" and not result:
        problems.append("no passage is cited")
    if require == "sentence":
        bare = [part for part in cited_sentences(text) if is_claim(part) and not markers(part)]
        problems += [f"this sentence cites no passage: “{part[:_SHOWN]}”" for part in bare]
    return problems


def citations_of(text: str, passages: Sequence[Passage]) -> list[dict[str, Any]]:
    """Every citation in a text: the marker's place in it, and the passage it stands for."""
    return [
        {"marker": number, "start": start, "end": end, "source": passages[number - 1].source}
        for start, end, numbers in marker_spans(text)
        for number in numbers
        if 1 <= number <= len(passages)
    ]


Record = dict[str, Any]


def record_of(assignment: WritingTask, draft: Draft, writer: Writer, run_id: str) -> Record:
    passages = assignment.passages
    return {
        "task_id": task_id(assignment),
        "task_type": assignment.kind,
        "instruction": assignment.idea.instruction,
        "expected_response": draft.text,
        "rag": {
            "prompt": assignment.prompt,
            "contexts": number_passages(passages),
            "sources": [passage.source for passage in passages],
            "scores": [result.score for result in assignment.contexts],
            "citations": citations_of(draft.text, passages),
            "retrieved": [_retrieve(result) for result in assignment.contexts],
        },
        "metadata": {
            "document": assignment.document,
            "run_id": run_id,
            "generator": writer.identity,
            "label": writer.label,
            "method": assignment.idea.method,
            **draft.details,
        },
    }


def task_id(assignment: WritingTask) -> str:
    """The same question about the same passages has the same id, whenever it is made."""
    sources = [passage.source for passage in assignment.passages]
    key = canonical_json([assignment.kind, assignment.document, assignment.idea.instruction, sources])
    # A name-based UUID: the same input gives the same id on every machine.
    return str(uuid5(NAMESPACE_URL, f"evergold:generated:{key.decode()}"))


def _retrieve(result: RetrievedPassage) -> Record:
    passage = result.passage
    return {
        "document": passage.document,
        "chunk": passage.index,
        "start": passage.start,
        "end": passage.end,
        "page": passage.page,
        "heading": passage.heading,
        "rank": result.rank,
        "score": result.score,
        "role": result.role,
    }


Supports = Callable[[str, Sequence[str]], Awaitable[bool | None]]
"""Whether contexts support a sentence; None where the judge has no answer."""

_SUPPORT_SHOWN = 120


async def find_unsupported(text: str, passages: Sequence[Passage], supports: Supports) -> list[str]:
    """What is wrong with the support of a text, sentence by sentence; empty: every claim is supported, or not judged.

    A sentence is held against the passages that it cites; one that cites none, against all of them.
    """
    problems = []
    for sentence in filter(is_claim, cited_sentences(text)):
        numbers = [number for number in dict.fromkeys(markers(sentence)) if 1 <= number <= len(passages)]
        cited = [passages[number - 1] for number in numbers] or list(passages)
        plain = flatten(without_markers(sentence))
        # A quotation is supported by definition, and a judge asked about it could only be wrong.
        if any(plain.rstrip(".!?") in flatten(passage.text) for passage in cited):
            continue
        # None (no verdict) is no objection: a sentence is refused only if the judge denies it.
        if await supports(plain, [passage.text for passage in cited]) is False:
            shown = ", ".join(f"[{number}]" for number in numbers) or "the passages"
            problems.append(f"{shown} does not support this sentence: “{plain[:_SUPPORT_SHOWN]}”")
    return problems


# Characters; a shorter passage is a heading or a stray line and gives questions that nobody asks.
_SHORTEST_ANCHOR = 100
BADLY_CITED, UNSUPPORTED = "citations", "unsupported"


@dataclass(frozen=True)
class Outcome:
    """A record; or a refusal, with the reason it is counted under."""

    record: Record | None = None
    reason: str = ""
    refusal: Record | None = None
    rewritten: bool = False


@dataclass(frozen=True)
class Maker:
    spec: GenerationSpec
    writer: Writer
    library: Library
    prompts: Mapping[str, str]
    run_id: str
    supports: Supports | None = None
    """Asks a judge whether passages support a sentence; None: support is not checked."""

    async def of_document(self, name: str, passages: Sequence[Passage]) -> list[Outcome]:
        """Everything asked for, in a fixed order; calls for one document run side by side."""
        tasks = self.spec.tasks
        work = [self._ask("qa", passages, tasks.qa), self._ask("citations", passages, tasks.citations)]
        if tasks.summaries and passages:
            # Second place: questions, summary, citations is the order of the records in the file.
            work.insert(1, self._summary(name, passages))
        return [outcome for outcomes in await gather_results(work) for outcome in outcomes]

    async def _ask(self, kind: str, passages: Sequence[Passage], wanted: int) -> list[Outcome]:
        """Ideas from passages spread by the seed, until there are as many as wanted or no passage is left."""
        anchors = _anchors(passages, f"{self.spec.seed}:{kind}")
        # Every passage is asked for its share, so that questions spread over the document and not over its first pages.
        each = ceil(wanted / len(anchors)) if anchors else 0
        outcomes: list[Outcome] = []
        made = 0
        while made < wanted and anchors:
            # Passages that give no idea are replaced by further ones;
            # the batch is no larger than what is still missing.
            batch = ceil((wanted - made) / each)
            now, anchors = anchors[:batch], anchors[batch:]
            ideas = await gather_results(
                _call_writer(partial(self.writer.ideas, kind, anchor, each), lambda why: [Idea(problem=why)])
                for anchor in now
            )
            pairs = [(anchor, idea) for anchor, some in zip(now, ideas, strict=True) for idea in some]
            good = [(anchor, idea) for anchor, idea in pairs if idea.problem is None][: wanted - made]
            outcomes += [
                _refusal(idea.problem, {"task_type": kind, "document": anchor.document, "source": anchor.source})
                for anchor, idea in pairs
                if idea.problem is not None
            ]
            outcomes += await gather_results(self._answer(kind, anchor, idea) for anchor, idea in good)
            made += len(good)
        if wanted and passages and not outcomes:
            detail = f"nothing to ask: no sentence of {passages[0].document} makes a question that somebody would ask"
            return [_refusal(detail, {"task_type": kind, "document": passages[0].document})]
        return outcomes

    async def _answer(self, kind: str, anchor: Passage, idea: Idea) -> Outcome:
        contexts = await self.library.contexts(idea.instruction, anchor, self.spec.retrieval.contexts)
        return await self._check_written(kind, anchor.document, idea, contexts)

    async def _summary(self, name: str, passages: Sequence[Passage]) -> list[Outcome]:
        chosen = _spread(passages, self.spec.retrieval.summary_contexts)
        contexts = tuple(RetrievedPassage(passage=passage, role="of the document") for passage in chosen)
        idea = Idea(instruction=templates_of(chosen).summary.format(document=name), method="summary")
        return [await self._check_written("summaries", name, idea, contexts)]

    async def _check_written(
        self, kind: str, document: str, idea: Idea, contexts: tuple[RetrievedPassage, ...]
    ) -> Outcome:
        passages = [result.passage for result in contexts]
        template = self.prompts["summary" if kind == "summaries" else "answer"]
        prompt = answer_prompt(template, idea.instruction, passages, self.spec.citations.require)
        assignment = WritingTask(kind=kind, document=document, idea=idea, contexts=contexts, prompt=prompt)
        drafts = [await _call_writer(partial(self.writer.write, assignment), lambda why: Draft(problem=why))]
        while drafts[-1].problem is None:
            reason, problems = await self._problems(drafts[-1], passages)
            if not problems:
                break
            # One draft more than the rewrites allowed has been judged.
            if len(drafts) > self.spec.citations.rewrites:
                return _refuse(assignment, drafts, "; ".join(problems), reason)
            rewrite = partial(self.writer.rewrite, assignment, drafts[-1], problems)
            drafts.append(await _call_writer(rewrite, lambda why: Draft(problem=why)))
        if drafts[-1].problem is not None:
            return _refuse(assignment, drafts, drafts[-1].problem)
        record = record_of(assignment, drafts[-1], self.writer, self.run_id)
        return Outcome(record, rewritten=len(drafts) > 1)

    async def _problems(self, draft: Draft, passages: Sequence[Passage]) -> tuple[str, list[str]]:
        """What keeps a draft from being used, and what it is counted under: its citations first, then their support."""
        problems = problems_with(draft.text, len(passages), self.spec.citations.require)
        # Support is asked for only when citations are in order: it is held against the passages that they name.
        if problems or self.supports is None:
            return BADLY_CITED, problems
        return UNSUPPORTED, await find_unsupported(draft.text, passages, self.supports)


def _anchors(passages: Iterable[Passage], seed: str) -> list[Passage]:
    """Passages to ask about, in an order fixed by the seed; the very short ones only where there is nothing else."""
    every = list(passages)
    long = [passage for passage in every if len(passage.text) >= _SHORTEST_ANCHOR] or every
    return sorted(long, key=lambda one: (unit_interval(f"{seed}:{one.document}:{one.index}"), one.index))


def _spread(passages: Sequence[Passage], most: int) -> list[Passage]:
    """The first passage and others at even distances, in order."""
    if len(passages) <= most:
        return list(passages)
    return [passages[number * len(passages) // most] for number in range(most)]


def _refuse(assignment: WritingTask, drafts: Sequence[Draft], detail: str, reason: str = "") -> Outcome:
    context = {
        "task_type": assignment.kind,
        "document": assignment.document,
        "instruction": assignment.idea.instruction,
        "sources": [passage.source for passage in assignment.passages],
        "drafts": [draft.text for draft in drafts],
    }
    return _refusal(detail, context, reason, rewritten=len(drafts) > 1)


def _refusal(detail: str, context: Record, reason: str = "", rewritten: bool = False) -> Outcome:
    """A refusal is counted under its reason; where none is given, that is what the detail says before its colon."""
    reason = reason or detail.partition(":")[0]
    return Outcome(None, reason, {"reason": reason, "detail": detail, **context}, rewritten)


Progress = Callable[[int], None]
"""Called with 1 for every document that is done."""

REPEATED = "near-duplicate"
_AHEAD = 4
"""Documents under way for each call that may be: a slow one at the head must not leave the others idle."""


@dataclass(frozen=True)
class Outputs:
    """Where everything goes: the dataset, and beside it, by its name, the rest."""

    dataset: Path

    @property
    def rejected(self) -> Path:
        return self._name_beside("rejected.jsonl")

    @property
    def report(self) -> Path:
        return self._name_beside("generation.json")

    @property
    def log(self) -> Path:
        return self._name_beside("calls.jsonl")

    def _name_beside(self, ending: str) -> Path:
        return self.dataset.with_name(f"{self.dataset.name.removesuffix('.jsonl')}.{ending}")


@dataclass
class _Counts:
    records: Counter[str] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    rewritten: int = 0

    def add(self, outcome: Outcome) -> None:
        self.rewritten += outcome.rewritten
        if outcome.record is None:
            self.rejected[outcome.reason] += 1
        else:
            self.records[outcome.record["task_type"]] += 1
            self.methods[outcome.record["metadata"]["method"]] += 1


async def generate(
    corpus: Corpus, maker: Maker, outputs: Outputs, spent: Spent, progress: Progress | None = None
) -> GenerationReport:
    """Write the dataset; `spent` has what the calls cost when all are done."""
    counts = _Counts()
    with FileSet() as files:
        await _write(corpus, maker, counts, files.open(outputs.dataset), files.open(outputs.rejected), progress)
        if not counts.records:
            refused = ", ".join(f"{count} {reason}" for reason, count in sorted(counts.rejected.items()))
            raise Incomplete(
                f"no record could be made from {len(corpus.documents)} documents ({refused or 'nothing to ask about'}); "
                "nothing was written"
            )
        # Inside the block: the report is one of the files that appear together or not at all.
        report = _report(corpus, maker, outputs, counts, spent)
        files.open(outputs.report).write(
            orjson.dumps(report.model_dump(mode="json"), option=orjson.OPT_INDENT_2) + b"\n"
        )
    return report


async def _write(
    corpus: Corpus, maker: Maker, counts: _Counts, kept: BinaryIO, refused: BinaryIO, progress: Progress | None
) -> None:
    copies = _Copies(maker.spec.duplicates)
    work = (maker.of_document(name, passages) for name, passages in corpus.documents.items())
    # Closing the generator cancels the documents still under way when the limit ends the loop early.
    async with aclosing(_in_order(work, _AHEAD * maker.spec.concurrency)) as done:
        async for outcomes in done:
            for outcome in map(copies.refuse_copy, outcomes):
                if outcome.record is None:
                    refused.write(orjson.dumps(outcome.refusal) + b"\n")
                else:
                    kept.write(orjson.dumps(outcome.record) + b"\n")
                counts.add(outcome)
                # The limit is tested after each record: a document that
                # is cut off still gives its first records in order.
                if counts.records.total() == maker.spec.limit:
                    return
            if progress:
                progress(1)


async def _in_order(
    work: Iterable[Coroutine[Any, Any, list[Outcome]]], window: int
) -> AsyncGenerator[list[Outcome], None]:
    """Results in the order of the work, with at most `window` under way."""
    waiting: deque[asyncio.Task[list[Outcome]]] = deque()
    try:
        for one in work:
            waiting.append(asyncio.ensure_future(one))
            if len(waiting) >= window:
                yield await waiting.popleft()
        while waiting:
            yield await waiting.popleft()
    finally:
        for task in waiting:
            task.cancel()
        # Cancelled calls are awaited, or their clients would be closed under them.
        await asyncio.gather(*waiting, return_exceptions=True)


class _Copies:
    """Questions asked already: the same words, or a question and an answer that are nearly the same together."""

    def __init__(self, threshold: float) -> None:
        self._near = NearIndex(threshold)
        self._ask: dict[str, str] = {}

    def refuse_copy(self, outcome: Outcome) -> Outcome:
        record = outcome.record
        # A document has one summary, and summaries of similar documents are alike by nature.
        if record is None or record["task_type"] == "summaries":
            return outcome
        asked = f"{record['task_type']} {normalise(record['instruction'])}"
        shingles = shingles_of(f"{record['instruction']} {without_markers(record['expected_response'])}")
        first = self._ask.get(asked) or next((name for name, _ in self._near.find_similar(shingles)), None)
        if first is not None:
            detail = f"{first} asks nearly the same; the first one stays"
            return _refusal(detail, {"record": record}, REPEATED, outcome.rewritten)
        self._ask[asked] = record["task_id"]
        self._near.add(record["task_id"], shingles)
        return outcome


def _report(corpus: Corpus, maker: Maker, outputs: Outputs, counts: _Counts, spent: Spent) -> GenerationReport:
    retrieval = maker.spec.retrieval
    return GenerationReport(
        run_id=maker.run_id,
        writer=maker.writer.identity,
        label=maker.writer.label,
        retrieval=retrieval.method if retrieval.method == "bm25" else f"embeddings of {retrieval.model}",
        output=outputs.dataset.name,
        rejected_output=outputs.rejected.name,
        log=outputs.log.name if outputs.log.exists() else None,
        documents=len(corpus.documents),
        passages=len(corpus.passages),
        skipped=tuple(corpus.skipped),
        records=dict(sorted(counts.records.items())),
        methods=dict(sorted(counts.methods.items())),
        rejected=dict(sorted(counts.rejected.items())),
        rewritten=counts.rewritten,
        **vars(spent),
    )
