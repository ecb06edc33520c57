"""Entailment both ways between an expected answer and an answer: what the small model says of the sentences of each."""

from collections.abc import Iterator
from dataclasses import dataclass

from evergold.judge.answer_words import stems_of
from evergold.judge.claim_model import REFUTED, SUPPORTED, Array, ClaimModel
from evergold.text.words import sentences

MOST_WANTED, MOST_GIVEN = 12, 6  # sentences of the expected answer and of the answer that the model is asked about
NEAREST = 3  # sentences of the other text that are shown as evidence


@dataclass(frozen=True)
class Entailment:
    """The model's answers on sentences of the expected answer (`there`) and of the answer (`back`)."""

    there: Array
    back: Array
    sentences: int  # of the whole expected answer

    @property
    def recall(self) -> float:
        """How much of the expected answer the answer supports."""
        return float(self.there[:, SUPPORTED].mean())

    @property
    def precision(self) -> float:
        """How much of the answer the expected answer supports."""
        return float(self.back[:, SUPPORTED].mean())

    @property
    def refuted(self) -> float:
        """How surely the answer refutes a sentence of the expected answer."""
        refuted = float(self.there[:, REFUTED].max())
        # With one sentence each, refutation in either direction says the same.
        if len(self.there) == len(self.back) == 1:
            refuted = (refuted + float(self.back[0, REFUTED])) / 2
        return refuted


def entail(expected: str, output: str, model: ClaimModel) -> Entailment:
    """Ask the model about sentences of either text, each with the nearest sentences of the other as evidence."""
    all_wanted, all_given = list(sentences(expected)) or [expected], list(sentences(output)) or [output]
    wanted, given = _spread(all_wanted, MOST_WANTED), _spread(all_given, MOST_GIVEN)
    # Evidence is looked for in the whole text: what a long answer says at its end counts as much.
    pairs = [*_with_evidence(wanted, all_given), *_with_evidence(given, all_wanted)]
    answers = model.probabilities(pairs)
    return Entailment(answers[: len(wanted)], answers[len(wanted) :], len(all_wanted))


def _spread(parts: list[str], most: int) -> list[str]:
    """At most so many of the parts, spread over all of them."""
    if len(parts) <= most:
        return parts
    return [parts[round(number * (len(parts) - 1) / (most - 1))] for number in range(most)]


def _with_evidence(claims: list[str], parts: list[str]) -> Iterator[tuple[str, str]]:
    """Each claim after the parts that share most words with it, in their order."""
    words = [stems_of(part) for part in parts]
    for claim in claims:
        wanted = stems_of(claim)
        ranked = sorted(range(len(parts)), key=lambda i: -len(wanted & words[i]))[:NEAREST]
        yield " ".join(parts[i] for i in sorted(ranked)), claim
