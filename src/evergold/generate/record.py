"""One finished answer → one line of the offline dataset, in the schema that `evergold build` reads."""

from typing import Any
from uuid import NAMESPACE_URL, uuid5

from evergold.generate.citing import citations_of
from evergold.generate.prompts import numbered
from evergold.model.generation import Assignment, Draft, RetrievedPassage
from evergold.model.ident import canonical_json
from evergold.seams import Writer

Record = dict[str, Any]


def record_of(assignment: Assignment, draft: Draft, writer: Writer, run_id: str) -> Record:
    passages = assignment.passages
    return {
        "task_id": task_id(assignment),
        "task_type": assignment.kind,
        "instruction": assignment.idea.instruction,
        "expected_response": draft.text,
        "rag": {
            "prompt": assignment.prompt,
            "contexts": numbered(passages),
            "sources": [passage.source for passage in passages],
            "scores": [result.score for result in assignment.contexts],
            "citations": citations_of(draft.text, passages),
            "retrieved": [_retrieved(result) for result in assignment.contexts],
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


def task_id(assignment: Assignment) -> str:
    """The same question about the same passages has the same id, whenever it is made."""
    sources = [passage.source for passage in assignment.passages]
    key = canonical_json([assignment.kind, assignment.document, assignment.idea.instruction, sources])
    # A name-based UUID: the same input gives the same id on every machine.
    return str(uuid5(NAMESPACE_URL, f"evergold:generated:{key.decode()}"))


def _retrieved(result: RetrievedPassage) -> Record:
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
