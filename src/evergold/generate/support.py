"""Check that each sentence of a text follows from the passages it cites. A judge decides; a quotation needs none."""

from collections.abc import Awaitable, Callable, Sequence

from evergold.generate.sentences import flat
from evergold.model.generation import Passage
from evergold.text.markers import cited_sentences, is_claim, markers, without_markers

Supports = Callable[[str, Sequence[str]], Awaitable[bool | None]]
"""Whether contexts support a sentence; None where the judge has no answer."""

_SHOWN = 120


async def unsupported(text: str, passages: Sequence[Passage], supports: Supports) -> list[str]:
    """What is wrong with the support of a text, sentence by sentence; empty: every claim is supported, or not judged.

    A sentence is held against the passages that it cites; one that cites none, against all of them.
    """
    problems = []
    for sentence in filter(is_claim, cited_sentences(text)):
        numbers = [number for number in dict.fromkeys(markers(sentence)) if 1 <= number <= len(passages)]
        cited = [passages[number - 1] for number in numbers] or list(passages)
        plain = flat(without_markers(sentence))
        # A quotation is supported by definition, and a judge asked about it could only be wrong.
        if any(plain.rstrip(".!?") in flat(passage.text) for passage in cited):
            continue
        # None (no verdict) is no objection: a sentence is refused only if the judge denies it.
        if await supports(plain, [passage.text for passage in cited]) is False:
            shown = ", ".join(f"[{number}]" for number in numbers) or "the passages"
            problems.append(f"{shown} does not support this sentence: “{plain[:_SHOWN]}”")
    return problems
