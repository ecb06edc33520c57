"""Grade an answer against the expected one: by rule where the expected answer has a form, by entailment both ways else.

What no rule of `grading_rules` answers goes to the small model. Its verdicts on one or two sentences are checked for
numbers, negations and opposites that it may overlook; longer answers are graded by a fit of model and words.
"""

from evergold.judge.answer_words import likeness, normal_text, stems_of, words_of
from evergold.judge.claim_model import ClaimModel
from evergold.judge.entailment import Entailment, entail
from evergold.judge.grading_rules import RULES, Grade
from evergold.judge.long_answers import long_features, shipped_long_grading
from evergold.judge.polarity import opposed, turned
from evergold.judge.quantities import quantities

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
    return None if model is None else entailed(expected, output, model)


def entailed(expected: str, output: str, model: ClaimModel) -> Grade:
    """Entailment both ways: how much of the expected answer the answer supports, and whether either refutes the other."""
    entailment = entail(expected, output, model)
    if entailment.sentences > SHORT:
        return _page(expected, output, entailment, model)
    recall, precision, refuted = entailment.recall, entailment.precision, entailment.refuted
    shared = likeness(expected, output)
    value = RECALL * recall + PRECISION * precision + WORDS * shared + SURE * recall * precision
    # A refutation weighs less the more of the expected answer is supported.
    value *= 1 - refuted * (1 - recall)
    reason = f"supported {recall:.2f} and back {precision:.2f}, refuted {refuted:.2f}, shared words {shared:.2f}"
    return _checked(expected, output, value, reason)


def _page(expected: str, output: str, entailment: Entailment, model: ClaimModel) -> Grade:
    """An answer to compare with several sentences: one wrong number or opposite makes a part of it wrong, not all."""
    row = long_features(expected, output, entailment, model)
    support = f"supported {entailment.recall:.2f} and back {entailment.precision:.2f}"
    reason = f"{support}, words the same or near {row['near_words']:.2f} of the expected"
    if row["missing_numbers"]:
        reason += "; numbers are missing"
    return Grade(max(0.0, min(0.99, shipped_long_grading().value(row))), reason)


def _checked(expected: str, output: str, value: float, reason: str) -> Grade:
    """Lower a grade that numbers, negations or opposites forbid."""
    wanted, given = quantities(expected), quantities(output)
    missing = [q for q in wanted if not any(q.same(other) for other in given)]
    if missing and given:
        value, reason = min(value, 0.3), f"{reason}; a number differs"
    one, other = stems_of(expected), stems_of(output)
    alike = len(one & other) / max(1, min(len(one), len(other)))
    opposite = opposed(words_of(expected), words_of(output))
    if (
        len(one) >= 2
        and alike >= (0.5 if opposite else 0.8)
        and turned(expected, output, words_of(expected), words_of(output))
    ):
        value, reason = min(value, 0.2), f"{reason}; one says the opposite of the other"
    # 1 is kept for equal texts and exact rules.
    return Grade(max(0.0, min(0.99, value)), reason)
