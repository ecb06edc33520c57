"""An answer must cite, and only what is there: decided by rule, never by the writer's word."""

from collections.abc import Sequence
from typing import Any

from evergold.model.generation import Passage
from evergold.text.markers import cited_sentences, is_claim, marker_spans, markers, without_markers

_SHOWN = 80


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
