"""How much the default redactor finds of what is private, and how much it takes that is not, on labelled lines.

What is private stands in «guillemets»; a line without any is ordinary. The rules were made looking at `labelled`. `measured`
was written before the rules, and no rule was changed for one of its lines. `pytest tests/redact/test_labelled.py -s` prints
the figures; they may not fall below the floors.
"""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from evergold.redact.default import DefaultRedactor
from tests.rows import each_row

HERE = Path(__file__).parent
MARK = re.compile("«([^»]*)»")
FILES = {
    "EMAIL": "emails",
    "CARD": "cards",
    "PHONE": "phones",
    "SECRET": "secrets",
    "IBAN": "ibans",
    "ID": "national_ids",
    "IP": "ip_addresses",
}


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


def lines(folder: str, name: str) -> list[str]:
    path = HERE / folder / f"{name}.txt"
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def figures(kind: str, labelled: list[str]) -> Figures:
    redact = DefaultRedactor(ip_addresses=kind == "IP").redact
    found, missed, wrong = 0, [], []
    for line in labelled:
        private = MARK.findall(line)
        clean, counted = redact(MARK.sub(r"\1", line))
        right = len(private) if clean == MARK.sub(f"[{kind}]", line) else 0
        found += right
        missed += [f"{line} -> {clean}"] * (len(private) - right)
        wrong += [f"{line} -> {clean}"] * (counted.total() - right)
    return Figures(found, missed, wrong)


@each_row("kind", FILES)
@each_row("folder", ["labelled", "measured"])
def test_precision_and_recall_on_labelled_lines(folder: str, kind: str) -> None:
    labelled = lines(folder, FILES[kind]) + lines(folder, f"no_{FILES[kind]}")
    if not labelled:
        pytest.skip(f"the folder {folder} has no lines of the kind {kind}")
    result = figures(kind, labelled)
    summary = f"{folder} {kind}: {len(labelled)} lines, precision {result.precision:.3f}, recall {result.recall:.3f}"
    print(summary, *result.missed, *result.wrong, sep="\n  ")
    assert result.precision >= 0.96, result.wrong
    assert result.recall >= 0.96, result.missed


def test_the_measuring_lists_are_long_enough_and_share_no_line_with_those_that_shaped_the_rules() -> None:
    for name in FILES.values():
        measured = lines("measured", name)
        assert len(measured) >= 40
        assert any("«" in line for line in measured) and any("«" not in line for line in measured)
        assert not set(measured) & set(lines("labelled", name) + lines("labelled", f"no_{name}"))
