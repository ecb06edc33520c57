"""Ask the small model about claims on a body of evidence: by the window chosen for each claim, and by a second one.

The first window is put together of the sentences with most of a claim's words. Where it does not support the claim, the
consecutive sentences around the best one are read as well: what a passage says together is lost in single sentences of it.
"""

from collections.abc import Sequence

from evergold.judge.claim_model import SUPPORTED, Array, ClaimModel
from evergold.judge.evidence import WINDOW_WORDS, EvidenceSearch, passage, window
from evergold.text.words import Text

READ_AGAIN_BELOW = 0.5
"""The support of the first window below which the second is read: a claim that is supported costs one reading."""


def read(claims: Sequence[Text], evidence: EvidenceSearch, model: ClaimModel) -> Array:
    """Supported, unknown and refuted for each claim; of two windows the larger support, and the refutation of the first."""
    first = [window(claim, evidence) for claim in claims]
    answers = model.probabilities([(text, claim.raw) for text, claim in zip(first, claims, strict=True)])
    # Evidence of one window's size has been read, except what has no word of the claim.
    if evidence.size <= WINDOW_WORDS:
        return answers
    second = {
        number: passage(claims[number], evidence)
        for number, answer in enumerate(answers)
        if answer[SUPPORTED] < READ_AGAIN_BELOW
    }
    again = [number for number, text in second.items() if text != first[number]]
    supports = model.probabilities([(second[number], claims[number].raw) for number in again])[:, SUPPORTED]
    answers[again, SUPPORTED] = supports.clip(min=answers[again, SUPPORTED])
    return answers
