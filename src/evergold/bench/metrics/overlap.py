"""Overlap of words and letters with the expected answer: token F1, ROUGE-L, chrF, BLEU, edit similarity."""

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from evergold.bench.metrics.reference import NO_REFERENCE, reference_text
from evergold.bench.metrics.tokens import f_score, words
from evergold.errors import Unavailable
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement

MOST_PAIRS = (
    10**10
)  # of letters or words: comparing two texts of 100,000 takes a fraction of a second, and grows with the product


@dataclass(frozen=True)
class TokenF1:
    """F1 of the bags of words: order does not count, repeats do."""

    version: ClassVar[str] = "1"
    compares: ClassVar[bool] = True

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        reference = reference_text(case)
        if reference is None:
            return Measurement.not_applicable(NO_REFERENCE)
        want, got = words(reference), words(attempt.output)
        if not want and not got:
            return Measurement.of(1.0)
        # The multiset intersection: a word counts as often as both have it.
        shared = (Counter(want) & Counter(got)).total()
        return Measurement.of(f_score(shared, len(got), len(want)))


@dataclass(frozen=True)
class RougeL:
    """F1 of the longest common subsequence of words: order counts, gaps do not."""

    version: ClassVar[str] = "1"
    compares: ClassVar[bool] = True

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        from rapidfuzz.distance import LCSseq

        reference = reference_text(case)
        if reference is None:
            return Measurement.not_applicable(NO_REFERENCE)
        want, got = words(reference), words(attempt.output)
        if not want and not got:
            return Measurement.of(1.0)
        if len(want) * len(got) > MOST_PAIRS:
            return Measurement.unscored(f"too long: {len(want)} and {len(got)} words")
        return Measurement.of(f_score(LCSseq.similarity(want, got), len(got), len(want)))


@dataclass(frozen=True)
class ChrF:
    """chrF: F-score of letter n-grams up to `order`, white space left out; the mean over orders, recall weighed beta."""

    version: ClassVar[str] = "1"
    compares: ClassVar[bool] = True
    order: int = 6
    beta: float = 2.0

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        reference = reference_text(case)
        if reference is None:
            return Measurement.not_applicable(NO_REFERENCE)
        want, got = "".join(reference.split()), "".join(attempt.output.split())
        if not want and not got:
            return Measurement.of(1.0)
        precision = recall = 0.0
        orders = 0
        for n in range(1, self.order + 1):
            wanted, gotten = _letters(want, n), _letters(got, n)
            # Texts shorter than n letters have no n-gram; that order is left out of the mean.
            if not wanted or not gotten:
                continue
            shared = (wanted & gotten).total()
            precision += shared / gotten.total()
            recall += shared / wanted.total()
            orders += 1
        # f_score takes counts; the reciprocals of mean precision and recall stand for them here.
        return Measurement.of(f_score(1.0, orders / precision, orders / recall, self.beta) if precision else 0.0)


@dataclass(frozen=True)
class Bleu:
    """Sentence BLEU as sacrebleu counts it, smoothed, with the order cut to what a short answer has; from 0 to 1."""

    version: ClassVar[str] = "1"
    compares: ClassVar[bool] = True

    def __post_init__(self) -> None:
        try:
            import sacrebleu  # noqa: F401
        except ImportError as problem:
            raise Unavailable("metric bleu needs sacrebleu: pip install 'evergold[metrics]'") from problem

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        from sacrebleu.metrics.bleu import BLEU

        reference = reference_text(case)
        if reference is None:
            return Measurement.not_applicable(NO_REFERENCE)
        # effective_order: a short answer has no 4-grams, and would score 0 without it.
        score = BLEU(effective_order=True).sentence_score(attempt.output, [reference])
        return Measurement.of(min(1.0, score.score / 100))


@dataclass(frozen=True)
class EditSimilarity:
    """1 − the edits (insert, delete, replace a letter) that turn one text into the other, over the longer's length."""

    version: ClassVar[str] = "1"
    compares: ClassVar[bool] = True

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        from rapidfuzz.distance import Levenshtein

        reference = reference_text(case)
        if reference is None:
            return Measurement.not_applicable(NO_REFERENCE)
        want, got = reference.strip(), attempt.output.strip()
        if len(want) * len(got) > MOST_PAIRS:
            return Measurement.unscored(f"too long: {len(want)} and {len(got)} characters")
        return Measurement.of(Levenshtein.normalized_similarity(want, got))


def _letters(text: str, n: int) -> Counter[str]:
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))
