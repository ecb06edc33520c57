"""Reactions are user scores, whatever skin tone or variation selector they carry."""

from evergold.model.trace import reaction_value
from tests.rows import each_row


@each_row(
    ("emoji", "value"),
    [("👍", 1.0), ("❤️", 1.0), ("❤", 1.0), ("🙏", 0.9), ("😂", 0.8), ("😮", 0.5), ("😢", 0.2), ("👎", 0.0), ("🦄", 0.5)],
)
def test_each_reaction_has_its_value(emoji: str, value: float) -> None:
    assert reaction_value(emoji) == value


@each_row("tone", ["🏻", "🏼", "🏽", "🏾", "🏿"])
@each_row(("emoji", "value"), [("👍", 1.0), ("👎", 0.0), ("🙏", 0.9)])
def test_skin_tones_change_nothing(emoji: str, value: float, tone: str) -> None:
    assert reaction_value(emoji + tone) == value
    assert reaction_value(emoji + tone + "\ufe0f") == value


def test_variation_selectors_and_blanks_are_folded() -> None:
    assert reaction_value(" ❤\ufe0f ") == reaction_value("❤\ufe0e") == 1.0


def test_a_composed_heart_is_not_a_plain_heart() -> None:
    assert reaction_value("❤️‍🔥") == 0.5
