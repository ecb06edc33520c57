"""Make claims of a document's own sentences, as summarisers that copy make them: right ones, and wrong ones by rule."""

import random
import re
from collections.abc import Iterator, Sequence

from scripts.judge_model import changes

LONGEST_WORDS, SHORTEST_WORDS = 45, 8
OPENING = re.compile(r"^(?:In|On|At|After|Before|During|While|According to|However|Meanwhile)\b[^,.]{3,60}, ")


def extracts(
    document: Sequence[str], other: Sequence[str], table: changes.Table, rng: random.Random
) -> Iterator[tuple[str, bool]]:
    """Claims with whether the document supports them. `other` is a document of the same source."""
    usable = [part for part in document if SHORTEST_WORDS <= len(part.split()) <= LONGEST_WORDS]
    if len(usable) < 4:
        return
    for _ in range(3):
        claim = _kept(usable, table, rng)
        if claim is not None:
            yield claim, True
    for _ in range(3):
        claim = _broken(usable, other, table, rng)
        if claim is not None:
            yield claim, False


def _kept(parts: Sequence[str], table: changes.Table, rng: random.Random) -> str | None:
    """A sentence shortened, two neighbours joined, or a word put for another of the same meaning."""
    where = rng.randrange(len(parts) - 1)
    sentence, draw = parts[where], rng.random()
    if draw < 0.4:
        return changes.clause(sentence, rng)
    if draw < 0.55:
        return f"{sentence.rstrip('.')} and {parts[where + 1][:1].lower()}{parts[where + 1][1:]}"
    if draw < 0.75:
        opening = OPENING.match(sentence)
        return sentence[opening.end() :].capitalize() if opening else None
    return changes.substitute(sentence, table, "same", rng)


def _broken(parts: Sequence[str], other: Sequence[str], table: changes.Table, rng: random.Random) -> str | None:
    """Halves of two sentences joined, a name or number of elsewhere, a fact turned, or a sentence of another document."""
    sentence, draw = rng.choice(parts), rng.random()
    if draw < 0.35:
        return changes.fused(*rng.sample(list(parts), 2))
    if draw < 0.6:
        return changes.from_evidence(sentence, " ".join(parts), rng)
    if draw < 0.75:
        turned = changes.TURNING[rng.choice(list(changes.TURNING))](sentence, rng)
        return None if turned == sentence else turned
    if draw < 0.9:
        return changes.substitute(sentence, table, "other", rng)
    return rng.choice(list(other)) if other else None
