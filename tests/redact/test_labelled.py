"""How much the default redactor finds of what is private, and how much it takes that is not, on labelled lines.

Each file holds lines of production text; what is private stands in «guillemets». The figures are printed, and may not fall
below the floors.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from evergold.redact.default import DefaultRedactor

LABELLED = Path(__file__).parent / "labelled"
MARK = re.compile("«([^»]*)»")
redact = DefaultRedactor().redact


class Figures(NamedTuple):
    found: int
    missed: list[str]
    wrong: list[str]

    @property
    def recall(self) -> float:
        return self.found / (self.found + len(self.missed))

    @property
    def precision(self) -> float:
        return self.found / (self.found + len(self.wrong))


def lines(name: str) -> list[str]:
    return (LABELLED / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def figures(kind: str, labelled: list[str]) -> Figures:
    found, missed, wrong = 0, [], []
    for line in labelled:
        private = MARK.findall(line)
        clean, counted = redact(MARK.sub(r"\1", line))
        right = len(private) if clean == MARK.sub(f"[{kind}]", line) else 0
        found += right
        missed += [line] * (len(private) - right)
        wrong += [f"{line} -> {clean}"] * (counted.total() - right)
    return Figures(found, missed, wrong)


@pytest.mark.parametrize(
    ("kind", "private", "ordinary", "precision", "recall"),
    [
        ("PHONE", "phones", "no_phones", 0.98, 0.95),
        ("CARD", "cards", "no_cards", 0.98, 0.98),
        ("SECRET", "secrets", "no_secrets", 0.98, 0.98),
        ("EMAIL", "emails", "no_emails", 0.98, 0.98),
    ],
)
def test_precision_and_recall_on_labelled_lines(
    kind: str, private: str, ordinary: str, precision: float, recall: float
) -> None:
    told = figures(kind, lines(private) + lines(ordinary))
    print(f"{kind}: precision {told.precision:.3f}, recall {told.recall:.3f}", *told.missed, *told.wrong, sep="\n  ")
    assert told.precision >= precision, told.wrong
    assert told.recall >= recall, told.missed


def test_the_lists_are_long_enough_to_tell() -> None:
    assert len(MARK.findall("\n".join(lines("phones")))) >= 60
    assert len(lines("no_phones")) >= 80
    assert all(
        not MARK.search(line) for name in ("phones", "cards", "secrets", "emails") for line in lines(f"no_{name}")
    )
