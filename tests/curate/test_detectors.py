"""Corrections in the next message: measured on a labelled list, false alarms counted as strictly as misses."""

from collections import Counter

import pytest

from evergold.curate.detectors import HIGH, LOW, PatternDetector
from tests.curate.corrections_labelled import LABELLED

LABEL = {HIGH: "H", LOW: "L", None: "N"}


def confusion() -> Counter[tuple[str, str]]:
    detector = PatternDetector()
    return Counter((label, LABEL[detector.detect(message, *reply)]) for label, message, *reply in LABELLED)


def test_the_list_is_long_enough_to_mean_something() -> None:
    assert len(LABELLED) >= 190
    assert len({row[1] for row in LABELLED}) == len(LABELLED)


def test_precision_and_recall_of_plain_corrections() -> None:
    """Precision 69 of 69, recall 69 of 75: it would rather miss one than spoil a good answer."""
    seen = confusion()
    found = sum(count for (_, got), count in seen.items() if got == "H")
    there = sum(count for (label, _), count in seen.items() if label == "H")
    assert (seen["H", "H"], found, there) == (69, 69, 75)


def test_precision_and_recall_of_doubts() -> None:
    seen = confusion()
    found = sum(count for (_, got), count in seen.items() if got == "L")
    there = sum(count for (label, _), count in seen.items() if label == "L")
    assert (seen["L", "L"], found, there) == (25, 25, 28)


@pytest.mark.parametrize(
    "message",
    ["no está mal, gracias", "NO ESTÁ MAL, GRACIAS", "no esta mal gracias", "what do I do if my car is broken"],
)
def test_the_well_known_false_alarms_stay_silent(message: str) -> None:
    assert PatternDetector().detect(message) is None


def test_no_is_an_answer_when_the_reply_asked() -> None:
    detector = PatternDetector()
    assert detector.detect("No, it's for my sister", "Is the ticket for you?") is None
    assert detector.detect("No, it's for my sister", "The ticket is for you.") == HIGH


def test_a_pasted_document_is_not_a_remark() -> None:
    assert PatternDetector().detect("That's wrong. " * 100) is None
