"""Grade an answer against the expected one: by rule where the expected answer has a form, by entailment both ways else.

What no rule of `grading_rules` answers goes to the small model. Its verdicts on one or two sentences are checked for
numbers, negations and opposites that it may overlook; longer answers are graded by a fit of model and words.

Entailment both ways between an expected answer and an answer: what the small model says of the sentences of each.

Grade an answer against an expected one of several sentences: how much of it the answer has, and how much else.

The model reads sentences one by one; words, and words that are near in meaning, show how complete the whole is. One linear
fit weighs both; its weights are in `long_answers.json`, made by `scripts/judge_grades/fit.py`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from evergold.judge.answer_words import ALL_STOPWORDS, WORD, likeness, normal_text, stems_of, words_of
from evergold.judge.grading_rules import RULES, Grade
from evergold.judge.polarity import contradicts, has_opposites
from evergold.judge.quantities import plain, quantities
from evergold.judge.small_model import REFUTED, SUPPORTED, Array, ClaimModel
from evergold.judge.support import read_fit
from evergold.text.words import sentences, stem

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
    def refutation(self) -> float:
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


MOST_WORDS = 1000
"""Different words of a text that are compared: a bound on memory, beyond what an answer of 20,000 characters has."""


@dataclass(frozen=True)
class LongGrading:
    """The weight of each feature, a constant, and the hash of both."""

    weights: Mapping[str, float]
    bias: float
    digest: str

    def value(self, row: Mapping[str, float]) -> float:
        return self.bias + sum(weight * row[name] for name, weight in self.weights.items())


def long_features(expected: str, output: str, entailment: Entailment, model: ClaimModel) -> dict[str, float]:
    """Numbers from 0 to 1, each 1 for a copy: support of either text by the other, and words that are the same or near."""
    recall, precision = _near_words(_words(expected), _words(output), model)
    wanted, given = quantities(expected), quantities(output)
    missing = sum(not any(quantity.same(another) for another in given) for quantity in wanted)
    return {
        # Between no support and little lies more than between much and full: so the cube root of each sentence's support.
        "support": float(np.cbrt(entailment.there[:, SUPPORTED]).mean()),
        "support_back": float(np.cbrt(entailment.back[:, SUPPORTED]).mean()),
        "near_words": recall,
        "near_f1": 2 * recall * precision / (recall + precision) if recall + precision else 0.0,
        "missing_numbers": missing / max(1, len(wanted)),
    }


def _near_words(wanted: list[str], given: list[str], model: ClaimModel) -> tuple[float, float]:
    """The mean nearness of each wanted word to the nearest given one, and back; words of one stem are the same."""
    if not wanted or not given:
        return 0.0, 0.0
    cosines: Array = np.clip(model.word_vectors(wanted) @ model.word_vectors(given).T, 0, 1)
    stems, others = [stem(word) for word in wanted], [stem(word) for word in given]
    there = np.where([one in set(others) for one in stems], 1.0, cosines.max(axis=1))
    back = np.where([one in set(stems) for one in others], 1.0, cosines.max(axis=0))
    return float(there.mean()), float(back.mean())


def _words(text: str) -> list[str]:
    """The different words that carry meaning; every word where a text has only function words."""
    words = list(dict.fromkeys(plain(word) for word in WORD.findall(text)))
    return ([word for word in words if word not in ALL_STOPWORDS] or words)[:MOST_WORDS]


@cache
def shipped_long_grading() -> LongGrading:
    data, digest = read_fit("long_answers.json")
    return LongGrading(data["weights"], data["bias"], digest)


# Weights of entailment there and back, of shared words, and of both directions agreeing.
RECALL, PRECISION, WORDS, SURE = 0.6, 0.1, 0.2, 0.1
SHORT = 2  # sentences: in so few, one wrong number makes the answer wrong; in more, it makes a part of it wrong
LONGEST = 20_000


def grade(question: str, expected: str, output: str, model: ClaimModel | None) -> Grade | None:
    """The grade of an answer; None where no rule answers and there is no model."""
    expected, output = expected[:LONGEST].strip(), output[:LONGEST].strip()
    if not output:
        return Grade(0.0, "the answer is empty") if expected else Grade(1.0, "both are empty")
    # The text itself first: no rule may find fault with an exact copy.
    if normal_text(expected) == normal_text(output) and normal_text(expected):
        return Grade(1.0, "the same text")
    for rule in RULES:
        result = rule(question, expected, output)
        if result is not None:
            return result
    return None if model is None else grade_by_entailment(expected, output, model)


def grade_by_entailment(expected: str, output: str, model: ClaimModel) -> Grade:
    """Entailment both ways: how much of the expected answer the answer supports, and whether either refutes the other."""
    entailment = entail(expected, output, model)
    if entailment.sentences > SHORT:
        return _page(expected, output, entailment, model)
    recall, precision, refuted = entailment.recall, entailment.precision, entailment.refutation
    shared = likeness(expected, output)
    value = RECALL * recall + PRECISION * precision + WORDS * shared + SURE * recall * precision
    # A refutation weighs less the more of the expected answer is supported.
    value *= 1 - refuted * (1 - recall)
    reason = f"supported {recall:.2f} and back {precision:.2f}, refuted {refuted:.2f}, shared words {shared:.2f}"
    return _check_grade(expected, output, value, reason)


def _page(expected: str, output: str, entailment: Entailment, model: ClaimModel) -> Grade:
    """An answer to compare with several sentences: one wrong number or opposite makes a part of it wrong, not all."""
    row = long_features(expected, output, entailment, model)
    support = f"supported {entailment.recall:.2f} and back {entailment.precision:.2f}"
    reason = f"{support}, words the same or near {row['near_words']:.2f} of the expected"
    if row["missing_numbers"]:
        reason += "; numbers are missing"
    return Grade(max(0.0, min(0.99, shipped_long_grading().value(row))), reason)


def _check_grade(expected: str, output: str, value: float, reason: str) -> Grade:
    """Lower a grade that numbers, negations or opposites forbid."""
    wanted, given = quantities(expected), quantities(output)
    missing = [q for q in wanted if not any(q.same(other) for other in given)]
    if missing and given:
        value, reason = min(value, 0.3), f"{reason}; a number differs"
    one, other = stems_of(expected), stems_of(output)
    alike = len(one & other) / max(1, min(len(one), len(other)))
    opposite = has_opposites(words_of(expected), words_of(output))
    if (
        len(one) >= 2
        and alike >= (0.5 if opposite else 0.8)
        and contradicts(expected, output, words_of(expected), words_of(output))
    ):
        value, reason = min(value, 0.2), f"{reason}; one says the opposite of the other"
    # 1 is kept for equal texts and exact rules.
    return Grade(max(0.0, min(0.99, value)), reason)
