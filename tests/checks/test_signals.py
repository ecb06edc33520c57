"""Signals that an answer did not help: asked again, given up, handed to a person."""

from pathlib import Path

import pytest

from evergold.checks import answered as phrase_files
from evergold.checks.signals import NotGivenUp, NotHandedOver, gives_up, hands_over, same_question, wants_person
from evergold.errors import BadInput
from evergold.model.check import Turn
from tests.rows import each_row

LABELLED = [
    line.split("\t")
    for line in (Path(__file__).parent / "labelled" / "signals.tsv").read_text("utf-8").splitlines()
    if line
]
SIGNALS = {"gives_up": gives_up, "wants_person": wants_person, "hands_over": hands_over}


def test_signals_on_a_labelled_list() -> None:
    """The list was written by the author of the phrases, after them."""
    missed = [(kind, text) for kind, text in LABELLED if kind != "none" and not SIGNALS[kind](text)]
    alarms = [text for kind, text in LABELLED if kind == "none" and any(look(text) for look in SIGNALS.values())]
    assert len(missed) <= 2, missed
    assert alarms == []


@each_row(
    ("check", "turn", "value"),
    [
        (NotGivenUp(), Turn("t", "When?", "Soon.", next_input="never mind", next_seconds=60), 0.5),
        (NotGivenUp(), Turn("t", "When?", "Soon.", next_input="never mind", next_seconds=25 * 3600), None),
        (NotGivenUp(), Turn("t", "Olvídalo.", "Vale."), 0.5),
        (NotGivenUp(), Turn("t", "When?", "Soon.", next_input="And where?", next_seconds=60), 1.0),
        (NotGivenUp(), Turn("t", "When?", "Soon."), None),
        (NotHandedOver(), Turn("t", "When?", "Soon.", next_input="quiero hablar con una persona", next_seconds=9), 0.5),
        (NotHandedOver(), Turn("t", "My card is lost", "I'm transferring you to an agent."), 0.5),
        (NotHandedOver(), Turn("t", "When?", "Soon."), None),
    ],
)
def test_what_keeps_a_turn_out(check: NotGivenUp | NotHandedOver, turn: Turn, value: float | None) -> None:
    result = check.check(turn)
    assert (None if result is None else result.value) == value


@each_row(
    ("first", "second", "same"),
    [
        ("can I cancel my order?", "but can I cancel my order?", True),
        ("¿Puedo cancelar el pedido?", "hola, PUEDO CANCELAR EL PEDIDO??", True),
        ("What does it cost to ship 2 boxes?", "What does it cost to ship 3 boxes?", False),
        ("ok", "ok", False),
        ("and?", "and?", True),
        ("Is it open today?", "Is it closed today?", False),
    ],
)
def test_the_same_question(first: str, second: str, same: bool) -> None:
    assert same_question(first, second) is same


def test_a_phrase_file_in_another_encoding_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "phrases").mkdir()
    (tmp_path / "phrases" / "spanish.toml").write_bytes('[sets]\nopening = ["señor"]\n'.encode("latin-1"))
    monkeypatch.setattr(phrase_files, "files", lambda package: tmp_path)
    with pytest.raises(BadInput, match=r"spanish\.toml cannot be read as UTF-8 TOML"):
        phrase_files.read("spanish")
