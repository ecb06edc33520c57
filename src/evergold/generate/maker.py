"""One document → its records: what to ask, what to answer it from, the answer, and whether it may stay.

The same steps for every writer. A writer that quotes and a model that writes meet the same rules: what is not cited as
asked is written once more, and then refused and kept with the reason.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from evergold.calls.workers import together
from evergold.generate.citing import problems_with
from evergold.generate.prompts import answer_prompt
from evergold.generate.record import Record, record_of
from evergold.generate.retrieve import Library
from evergold.generate.spec import GenerationSpec
from evergold.generate.support import Supports, unsupported
from evergold.generate.templates import templates_of
from evergold.model.generation import Assignment, Draft, Idea, Passage, RetrievedPassage
from evergold.model.ident import unit_interval
from evergold.seams import Writer

# Characters; a shorter passage is a heading or a stray line and gives questions that nobody asks.
_SHORTEST_ANCHOR = 200
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
        work = [self._asked("qa", passages, tasks.qa), self._asked("citations", passages, tasks.citations)]
        if tasks.summaries and passages:
            # Second place: questions, summary, citations is the order of the records in the file.
            work.insert(1, self._summary(name, passages))
        return [outcome for outcomes in await together(work) for outcome in outcomes]

    async def _asked(self, kind: str, passages: Sequence[Passage], wanted: int) -> list[Outcome]:
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
            ideas = await together(self._ideas(kind, anchor, each) for anchor in now)
            pairs = [(anchor, idea) for anchor, some in zip(now, ideas, strict=True) for idea in some]
            good = [(anchor, idea) for anchor, idea in pairs if idea.problem is None][: wanted - made]
            outcomes += [_no_idea(kind, anchor, idea) for anchor, idea in pairs if idea.problem is not None]
            outcomes += await together(self._answered(kind, anchor, idea) for anchor, idea in good)
            made += len(good)
        return outcomes

    async def _ideas(self, kind: str, anchor: Passage, count: int) -> Sequence[Idea]:
        return await self.writer.ideas(kind, anchor, count)

    async def _answered(self, kind: str, anchor: Passage, idea: Idea) -> Outcome:
        contexts = await self.library.contexts(idea.instruction, anchor, self.spec.retrieval.contexts)
        return await self._written(kind, anchor.document, idea, contexts)

    async def _summary(self, name: str, passages: Sequence[Passage]) -> list[Outcome]:
        chosen = _spread(passages, self.spec.retrieval.summary_contexts)
        contexts = tuple(RetrievedPassage(passage=passage, role="of the document") for passage in chosen)
        idea = Idea(instruction=templates_of(chosen).summary.format(document=name), method="summary")
        return [await self._written("summaries", name, idea, contexts)]

    async def _written(self, kind: str, document: str, idea: Idea, contexts: tuple[RetrievedPassage, ...]) -> Outcome:
        passages = [result.passage for result in contexts]
        template = self.prompts["summary" if kind == "summaries" else "answer"]
        require = self.spec.citations.require
        prompt = answer_prompt(template, idea.instruction, passages, require)
        assignment = Assignment(kind=kind, document=document, idea=idea, contexts=contexts, prompt=prompt)
        drafts = [await self.writer.write(assignment)]
        while drafts[-1].problem is None:
            reason, problems = await self._problems(drafts[-1], passages)
            if not problems:
                break
            # One draft more than the rewrites allowed has been judged.
            if len(drafts) > self.spec.citations.rewrites:
                return _refused(assignment, drafts, reason, "; ".join(problems))
            drafts.append(await self.writer.rewrite(assignment, drafts[-1], problems))
        if drafts[-1].problem is not None:
            return _refused(assignment, drafts, drafts[-1].problem.partition(":")[0], drafts[-1].problem)
        record = record_of(assignment, drafts[-1], self.writer, self.run_id)
        return Outcome(record, rewritten=len(drafts) > 1)

    async def _problems(self, draft: Draft, passages: Sequence[Passage]) -> tuple[str, list[str]]:
        """What keeps a draft from being used, and what it is counted under: its citations first, then their support."""
        problems = problems_with(draft.text, len(passages), self.spec.citations.require)
        # Support is asked for only when citations are in order: it is held against the passages that they name.
        if problems or self.supports is None:
            return BADLY_CITED, problems
        return UNSUPPORTED, await unsupported(draft.text, passages, self.supports)


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


def _no_idea(kind: str, anchor: Passage, idea: Idea) -> Outcome:
    problem = idea.problem or ""
    context = {"task_type": kind, "document": anchor.document, "source": anchor.source}
    return _refusal(problem.partition(":")[0], problem, context)


def _refused(assignment: Assignment, drafts: Sequence[Draft], reason: str, detail: str) -> Outcome:
    context = {
        "task_type": assignment.kind,
        "document": assignment.document,
        "instruction": assignment.idea.instruction,
        "sources": [passage.source for passage in assignment.passages],
        "drafts": [draft.text for draft in drafts],
    }
    return _refusal(reason, detail, context, rewritten=len(drafts) > 1)


def _refusal(reason: str, detail: str, context: Record, rewritten: bool = False) -> Outcome:
    return Outcome(None, reason, {"reason": reason, "detail": detail, **context}, rewritten)
