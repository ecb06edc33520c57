"""The door of the stage: a folder of documents → an offline dataset, what was refused, and a report. All three or none.

Documents are worked on side by side and written in order, so that a run of yesterday and one of today give the same
bytes, however fast the calls came back. Near-copies are refused here, where the order decides who was first.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from evergold.errors import Incomplete
from evergold.formats.atomic import FileSet
from evergold.generate.documents import Corpus
from evergold.generate.maker import Maker, Outcome, Record
from evergold.model.generation import GenerationReport
from evergold.text.likeness import NearIndex, plain, shingles_of
from evergold.text.markers import without_markers

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
        return self._beside("rejected.jsonl")

    @property
    def report(self) -> Path:
        return self._beside("generation.json")

    @property
    def log(self) -> Path:
        return self._beside("calls.jsonl")

    def _beside(self, ending: str) -> Path:
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
    corpus: Corpus,
    maker: Maker,
    outputs: Outputs,
    finish: Callable[[], dict[str, Any]],
    progress: Progress | None = None,
) -> GenerationReport:
    """Writes the dataset. `finish` gives what the calls cost, asked for when all are done."""
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
        report = _report(corpus, maker, outputs, counts, finish())
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
            for outcome in map(copies.checked, outcomes):
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
        self._asked: dict[str, str] = {}

    def checked(self, outcome: Outcome) -> Outcome:
        record = outcome.record
        # A document has one summary, and summaries of similar documents are alike by nature.
        if record is None or record["task_type"] == "summaries":
            return outcome
        asked = f"{record['task_type']} {plain(record['instruction'])}"
        shingles = shingles_of(f"{record['instruction']} {without_markers(record['expected_response'])}")
        first = self._asked.get(asked) or next((name for name, _ in self._near.similar(shingles)), None)
        if first is not None:
            return Outcome(None, REPEATED, _copy_of(record, first), outcome.rewritten)
        self._asked[asked] = record["task_id"]
        self._near.add(record["task_id"], shingles)
        return outcome


def _copy_of(record: Record, first: str) -> Record:
    return {"reason": REPEATED, "detail": f"{first} asks nearly the same; the first one stays", "record": record}


def _report(corpus: Corpus, maker: Maker, outputs: Outputs, counts: _Counts, spent: dict[str, Any]) -> GenerationReport:
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
        **spent,
    )
