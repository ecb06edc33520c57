"""Metrics of an answer's text: equal, contained, of a pattern or length, overlapping in words and letters, near in meaning,
the same JSON. Most compare it with the reference of the case, by one rule for all of them: `Case.reference`.
"""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import orjson

from evergold.errors import BadInput, Unavailable, describe_unknown
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement
from evergold.model.values import likeness
from evergold.text.markers import compile_pattern

NO_REFERENCE = "the case has no reference answer"


# Inner apostrophes, points and commas stay: `don't`, `3.5` and `1,000` are one word each.
_WORD = re.compile(r"[぀-ヿ㐀-䶿一-鿿]|[^\W_぀-ヿ㐀-䶿一-鿿]+(?:['’.,][^\W_]+)*", re.UNICODE)


def words(text: str) -> list[str]:
    """Case-folded words without punctuation; in Chinese and Japanese, which write no spaces, single characters."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def f_score(matched: float, got: float, want: float, beta: float = 1.0) -> float:
    """F-beta of counts; 0 when nothing matched."""
    if not matched:
        return 0.0
    precision, recall = matched / got, matched / want
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)


@dataclass(frozen=True)
class _TextComparison:
    """Compares the answer with the text of the reference; not applicable where the case has none."""

    version: ClassVar[str] = "1"
    compares: ClassVar[bool] = True

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        reference = case.reference_text()
        if reference is None:
            return Measurement.not_applicable(NO_REFERENCE)
        return self.compare(reference, attempt.output)

    def compare(self, reference: str, output: str) -> Measurement:
        raise NotImplementedError


@dataclass(frozen=True)
class ExactMatch(_TextComparison):
    """1 when the answer equals the expected text, else 0; white space around either does not count."""

    ignore_case: bool = False

    def compare(self, reference: str, output: str) -> Measurement:
        want, got = reference.strip(), output.strip()
        if self.ignore_case:
            want, got = want.casefold(), got.casefold()
        return Measurement.of(float(want == got))


@dataclass(frozen=True)
class Contains:
    """1 when the answer contains `text` (by default the expected answer), else 0."""

    version: ClassVar[str] = "1"
    text: str | None = None
    ignore_case: bool = True

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        want = self.text if self.text is not None else case.reference_text()
        if want is None:
            return Measurement.not_applicable(NO_REFERENCE)
        # The empty text is contained in every answer: 1 everywhere would look like a result.
        if not want.strip():
            return Measurement.unscored("the text to look for is empty, and every answer contains it")
        want, got = want.strip(), attempt.output
        if self.ignore_case:
            want, got = want.casefold(), got.casefold()
        return Measurement.of(float(want in got))


@dataclass(frozen=True)
class Regex:
    """1 when the pattern is found in the answer (`full`: is the whole answer), else 0.

    The pattern is a parameter; without one, each case's expected answer is its pattern. Time is linear in the answer.
    """

    version: ClassVar[str] = "2"
    pattern: str | None = None
    full: bool = False
    ignore_case: bool = False

    def __post_init__(self) -> None:
        if self.pattern is not None:
            try:
                compile_pattern(self.pattern.strip(), ignore_case=self.ignore_case)
            # The pattern of the metric is compiled once before the run; a pattern of a case only when it is met.
            except BadInput as problem:
                raise BadInput(f"metric regex: {problem}") from problem

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        pattern = self.pattern if self.pattern is not None else case.reference_text()
        if pattern is None:
            return Measurement.not_applicable(NO_REFERENCE)
        try:
            compiled = compile_pattern(pattern.strip(), ignore_case=self.ignore_case)
        except BadInput as problem:
            return Measurement.unscored(f"the expected answer cannot be used as a pattern: {problem}")
        matches = compiled.fullmatch(attempt.output.strip()) if self.full else compiled.search(attempt.output)
        return Measurement.of(float(matches))


UNITS = ("words", "characters")


@dataclass(frozen=True)
class Length:
    """With limits: 1 inside `least`…`most`, else 0. Without: shorter over longer of answer and expected answer."""

    version: ClassVar[str] = "1"
    unit: str = "words"
    least: int | None = None
    most: int | None = None

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise BadInput(f"metric length: {describe_unknown('unit', self.unit, UNITS)}")

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        got = self._count(attempt.output)
        if self.least is not None or self.most is not None:
            inside = (self.least is None or got >= self.least) and (self.most is None or got <= self.most)
            return Measurement.of(float(inside), f"{got} {self.unit}", length=got)
        reference = case.reference_text()
        if reference is None:
            return Measurement.not_applicable(f"{NO_REFERENCE} and the metric has no limits", length=got)
        want = self._count(reference)
        # Two empty texts are equally long.
        ratio = min(got, want) / max(got, want) if max(got, want) else 1.0
        return Measurement.of(ratio, f"{got} {self.unit}, expected {want}", length=got)

    def _count(self, text: str) -> int:
        return len(words(text)) if self.unit == "words" else len(text.strip())


# Of letters or words: comparing two texts of 100,000 takes a fraction of a second, and grows with the product.
MOST_PAIRS = 10**10


@dataclass(frozen=True)
class TokenF1(_TextComparison):
    """F1 of the bags of words: order does not count, repeats do."""

    def compare(self, reference: str, output: str) -> Measurement:
        want, got = words(reference), words(output)
        if not want and not got:
            return Measurement.of(1.0)
        # The multiset intersection: a word counts as often as both have it.
        shared = (Counter(want) & Counter(got)).total()
        return Measurement.of(f_score(shared, len(got), len(want)))


@dataclass(frozen=True)
class RougeL(_TextComparison):
    """F1 of the longest common subsequence of words: order counts, gaps do not."""

    def compare(self, reference: str, output: str) -> Measurement:
        from rapidfuzz.distance import LCSseq

        want, got = words(reference), words(output)
        if not want and not got:
            return Measurement.of(1.0)
        if len(want) * len(got) > MOST_PAIRS:
            return Measurement.unscored(f"too long: {len(want)} and {len(got)} words")
        return Measurement.of(f_score(LCSseq.similarity(want, got), len(got), len(want)))


@dataclass(frozen=True)
class ChrF(_TextComparison):
    """chrF: F-score of letter n-grams up to `order`, white space left out; the mean over orders, recall weighed beta."""

    order: int = 6
    beta: float = 2.0

    def compare(self, reference: str, output: str) -> Measurement:
        want, got = "".join(reference.split()), "".join(output.split())
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
class Bleu(_TextComparison):
    """Sentence BLEU as sacrebleu counts it, smoothed, with the order cut to what a short answer has; from 0 to 1."""

    def __post_init__(self) -> None:
        try:
            import sacrebleu  # noqa: F401
        except ImportError as problem:
            raise Unavailable("metric bleu needs sacrebleu: pip install 'evergold[metrics]'") from problem

    def compare(self, reference: str, output: str) -> Measurement:
        from sacrebleu.metrics.bleu import BLEU

        # effective_order: a short answer has no 4-grams, and would score 0 without it.
        score = BLEU(effective_order=True).sentence_score(output, [reference])
        return Measurement.of(min(1.0, score.score / 100))


@dataclass(frozen=True)
class EditSimilarity(_TextComparison):
    """1 − the edits (insert, delete, replace a letter) that turn one text into the other, over the longer's length."""

    def compare(self, reference: str, output: str) -> Measurement:
        from rapidfuzz.distance import Levenshtein

        want, got = reference.strip(), output.strip()
        if len(want) * len(got) > MOST_PAIRS:
            return Measurement.unscored(f"too long: {len(want)} and {len(got)} characters")
        return Measurement.of(Levenshtein.normalized_similarity(want, got))


def _letters(text: str, n: int) -> Counter[str]:
    return Counter(text[i : i + n] for i in range(len(text) - n + 1))


@dataclass(frozen=True)
class EmbeddingSimilarity(_TextComparison):
    """Cosine of the embeddings of answer and expected answer; a negative one counts as 0."""

    def __post_init__(self) -> None:
        from evergold.text.embed import embedder

        # A missing package is found when the run is planned, not case by case.
        if embedder() is None:
            raise Unavailable("metric embedding_similarity needs wordllama: pip install 'evergold[embeddings]'")

    def compare(self, reference: str, output: str) -> Measurement:
        from evergold.text.embed import embedder

        model = embedder()
        assert model is not None  # or this metric could not have been made
        if not output.strip():
            return Measurement.of(0.0, "the answer is empty")
        want, got = model.vectors([reference, output])
        return Measurement.of(min(1.0, max(0.0, float(want @ got))), model=model.name)


_FENCE = "```"


@dataclass(frozen=True)
class JsonMatch(_TextComparison):
    """1 when the answer is the expected JSON value; `partial` gives the share of it that is right.

    A Markdown fence around the answer is taken off. An answer that is not JSON is wrong (0); an expected answer that
    is not JSON cannot be compared with (unscored).
    """

    partial: bool = False

    def compare(self, reference: str, output: str) -> Measurement:
        try:
            want = orjson.loads(_without_fence(reference))
        except orjson.JSONDecodeError as problem:
            return Measurement.unscored(f"the expected answer is not JSON: {problem}")
        try:
            got = orjson.loads(_without_fence(output))
        except orjson.JSONDecodeError as problem:
            return Measurement.of(0.0, f"the answer is not JSON: {problem}")
        alike = likeness(want, got)
        return Measurement.of(alike if self.partial else float(alike == 1.0))


def _without_fence(text: str) -> str:
    """The text inside a Markdown fence; the text itself where it stands in none."""
    body = text.strip()
    if not (body.startswith(_FENCE) and body.endswith(_FENCE) and len(body) > 2 * len(_FENCE)):
        return text
    language, newline, inside = body[len(_FENCE) : -len(_FENCE)].partition("\n")
    # A fence of another language is part of the answer, and the answer is then not JSON.
    return inside if newline and language.strip().lower() in ("", "json") else text
