"""Reactions: an emoji on a reply is a user's score of it.

One emoji has many spellings: with a skin tone, with a variation selector that asks for the coloured form, or with
both. They are folded to one before the table is asked, so that 👍🏽 and 👍 say the same.
"""

from __future__ import annotations

REACTION_SCORE = "user_reaction"
NEUTRAL = 0.5

# The five Fitzpatrick modifiers, and the selectors VS1 to VS16.
_SKIN_TONES = {chr(code) for code in range(0x1F3FB, 0x1F400)}
_VARIATION_SELECTORS = {chr(code) for code in range(0xFE00, 0xFE10)}

VALUES = {
    "👍": 1.0,
    "❤": 1.0,
    "🙏": 0.9,
    "😂": 0.8,
    "😮": 0.5,
    "😢": 0.2,
    "👎": 0.0,
}


def folded(emoji: str) -> str:
    """The emoji without skin tones and variation selectors."""
    return "".join(sign for sign in emoji.strip() if sign not in _SKIN_TONES and sign not in _VARIATION_SELECTORS)


def reaction_value(emoji: str) -> float:
    """What a reaction is worth as a score; one that is not in the table is neither praise nor blame."""
    return VALUES.get(folded(emoji), NEUTRAL)
