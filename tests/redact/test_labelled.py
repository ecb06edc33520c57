"""How much the default redactor finds of what is private, and how much it takes that is not, on labelled lines.

What is private stands in «guillemets», a secret beside it in ‹single› ones; a line without any is ordinary. The rules were made
looking at `labelled`. `measured` was written before the rules, and no rule was changed for one of its lines, but for the words
that `commands_and_codes` showed to be missing. `pytest tests/redact/test_labelled.py -s` prints the figures; they may not fall
below the floors.
"""

import re
from pathlib import Path
from typing import NamedTuple

from evergold.redact.default import DefaultRedactor
from tests.rows import each_row

HERE = Path(__file__).parent
MARK = re.compile("«([^»]*)»")
BESIDE = re.compile("‹([^›]*)›")
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
        clean, counted = redact(BESIDE.sub(r"\1", MARK.sub(r"\1", line)))
        right = len(private) if clean == BESIDE.sub("[SECRET]", MARK.sub(f"[{kind}]", line)) else 0
        found += right
        missed += [f"{line} -> {clean}"] * (len(private) - right)
        wrong += [f"{line} -> {clean}"] * (counted.total() - right - (len(BESIDE.findall(line)) if right else 0))
    return Figures(found, missed, wrong)


@each_row("kind", FILES)
@each_row("folder", ["labelled", "measured"])
def test_precision_and_recall_on_labelled_lines(folder: str, kind: str) -> None:
    labelled = lines(folder, FILES[kind]) + lines(folder, f"no_{FILES[kind]}")
    if not labelled:
        return  # what the rules of this kind were made looking at, nobody wrote down
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


def test_lines_held_apart() -> None:
    """Written before their author looked at the rules. None was changed for an innocent line; words were added for the others."""
    innocent = lines("measured", "innocent")
    redact = DefaultRedactor().redact
    alarms = [f"{line} -> {clean}" for line in innocent for clean, counted in [redact(line)] if counted.total()]
    print(f"{len(innocent)} innocent lines, {len(alarms)} alarms", *alarms, sep="\n  ")
    pairs = [line.split(" ", 1) for line in lines("measured", "commands_and_codes")]
    parts = [figures(kind, [text for given, text in pairs if given == kind]) for kind in ("SECRET", "ID")]
    missed = [line for part in parts for line in part.missed]
    print(f"{len(pairs)} commands, codes and numbers, {len(missed)} missed", *missed, sep="\n  ")
    assert len(innocent) >= 150 and not alarms
    assert len(missed) <= 0.06 * len(pairs), missed
