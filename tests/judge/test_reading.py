"""A claim that the first window of long evidence does not support is read once more with the sentences around the best one."""

from collections.abc import Sequence

import numpy as np
import pytest

from evergold.judge.small_model import SUPPORTED, Array
from evergold.judge.support import WINDOW_WORDS, EvidenceSearch, passage, read
from evergold.text.words import Text

FILLER = [f"Lot {number} was sold to a dealer from the north at the usual price of that year." for number in range(40)]
STORY = ["The vase came from Delft.", "A fire broke out in spring.", "It was lost then."]
CLAIM = Text("The vase was lost in a fire.")


class PairReader:
    """Gives each pair the support that is next in turn, and keeps the pairs."""

    def __init__(self, *supports: float) -> None:
        self.supports = list(supports)
        self.pairs: list[tuple[str, str]] = []

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Array:
        self.pairs += pairs
        given = [self.supports.pop(0) for _ in pairs]
        return np.array([[one, 0.6 - one / 2, 0.4 - one / 2] for one in given], dtype=np.float32).reshape(-1, 3)


def test_a_passage_is_the_best_sentence_and_its_neighbours_in_order() -> None:
    evidence = EvidenceSearch([*FILLER[:20], *STORY, *FILLER[20:]])
    text = passage(CLAIM, evidence)
    assert " ".join(STORY) in text
    assert len(text.split()) <= WINDOW_WORDS


def test_a_passage_ends_where_the_evidence_ends() -> None:
    assert passage(CLAIM, EvidenceSearch(STORY)) == " ".join(STORY)


@pytest.mark.parametrize(("first", "second", "support"), [(0.1, 0.8, 0.8), (0.3, 0.2, 0.3)])
def test_the_larger_support_counts_and_the_first_refutation(first: float, second: float, support: float) -> None:
    model = PairReader(first, second)
    answer = read([CLAIM], EvidenceSearch([*FILLER, *STORY]), model)[0]  # type: ignore[arg-type]
    assert answer[SUPPORTED] == pytest.approx(support)
    assert answer[2] == pytest.approx(0.4 - first / 2)
    assert len(model.pairs) == 2 and model.pairs[0] != model.pairs[1]


def test_a_supported_claim_and_short_evidence_are_read_once() -> None:
    sure, short = PairReader(0.9), PairReader(0.1)
    read([CLAIM], EvidenceSearch([*FILLER, *STORY]), sure)  # type: ignore[arg-type]
    read([CLAIM], EvidenceSearch(STORY), short)  # type: ignore[arg-type]
    assert len(sure.pairs) == len(short.pairs) == 1


def test_no_claims_are_no_readings() -> None:
    assert len(read([], EvidenceSearch([*FILLER, *STORY]), PairReader())) == 0  # type: ignore[arg-type]
