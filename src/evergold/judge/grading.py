"""Grade an answer against the expected one: by rule where the expected answer has a form, by entailment both ways else.

What no rule of `grading_rules` answers goes to the small model, whose verdicts are checked for numbers, negations and
opposites that it may overlook.
"""

from evergold.judge.answer_words import likeness, normal_text, stems_of, words_of
from evergold.judge.claim_model import REFUTED, SUPPORTED, ClaimModel
from evergold.judge.grading_rules import RULES, Grade
from evergold.judge.polarity import opposed, turned
from evergold.judge.quantities import quantities
from evergold.text.words import sentences

# Weights of entailment there and back, of shared words, and of both directions agreeing.
RECALL, PRECISION, WORDS, SURE = 0.6, 0.1, 0.2, 0.1
MOST_WANTED, MOST_GIVEN = 12, 6  # sentences of the expected answer and of the answer that the model is asked about
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
    all_wanted, all_given = list(sentences(expected)) or [expected], list(sentences(output)) or [output]
    wanted, given = _spread(all_wanted, MOST_WANTED), _spread(all_given, MOST_GIVEN)
    # Evidence is looked for in the whole text: what a long answer says at its end counts as much.
    pairs = [(_nearest(claim, all_given), claim) for claim in wanted]
    pairs += [(_nearest(claim, all_wanted), claim) for claim in given]
    answers = model.probabilities(pairs)
    there, back = answers[: len(wanted)], answers[len(wanted) :]
    recall, precision = float(there[:, SUPPORTED].mean()), float(back[:, SUPPORTED].mean())
    refuted = float(there[:, REFUTED].max())
    # With one sentence each, refutation in either direction says the same.
    if len(wanted) == len(given) == 1:
        refuted = (refuted + float(back[0, REFUTED])) / 2
    shared = likeness(expected, output)
    value = RECALL * recall + PRECISION * precision + WORDS * shared + SURE * recall * precision
    # A refutation weighs less the more of the expected answer is supported.
    value *= 1 - refuted * (1 - recall)
    # The model reads sentences one by one and misses how complete a long answer is, which its words show.
    if len(all_wanted) > SHORT:
        value = (value + shared) / 2
    reason = f"supported {recall:.2f} and back {precision:.2f}, refuted {refuted:.2f}, shared words {shared:.2f}"
    return _checked(expected, output, value, reason)


def _checked(expected: str, output: str, value: float, reason: str) -> Grade:
    """Lower a grade that numbers, negations or opposites forbid."""
    wanted, given = quantities(expected), quantities(output)
    missing = [q for q in wanted if not any(q.same(other) for other in given)]
    short = len(sentences(expected)) <= SHORT
    if missing and given and short:
        value, reason = min(value, 0.3), f"{reason}; a number differs"
    elif missing and not short:
        value, reason = value * (1 - len(missing) / len(wanted) / 2), f"{reason}; numbers are missing"
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


def _spread(parts: list[str], most: int) -> list[str]:
    """At most so many of the parts, spread over all of them."""
    if len(parts) <= most:
        return parts
    return [parts[round(number * (len(parts) - 1) / (most - 1))] for number in range(most)]


def _nearest(claim: str, parts: list[str]) -> str:
    """The parts that bear on a claim, in their order, as evidence for the model."""
    words = stems_of(claim)
    ranked = sorted(range(len(parts)), key=lambda i: -len(words & stems_of(parts[i])))[:3]
    return " ".join(parts[i] for i in sorted(ranked))
