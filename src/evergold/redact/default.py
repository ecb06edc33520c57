"""The default redactor: secrets, e-mail addresses, phone numbers and card numbers become typed placeholders.

It reads every text that is stored, so each pattern is tried only on a text that can hold it: two passes over the
bytes (a table look-up each) say whether there is a long enough run of digits or of token characters at all.
"""

import re
from collections import Counter

from evergold.redact.patterns import (
    ASSIGNED,
    BEARER,
    EMAIL,
    GROUP,
    NUMBER_RUN,
    PRIVATE_KEY,
    TOKEN_RUN,
    TOKENS,
    URL_LOGIN,
    Pattern,
    card_in,
    is_phone,
)

_DIGIT = ord("0")
_SEPARATORS = b" ().-+"
_DIGITS_ONLY = bytes(_DIGIT if 48 <= code <= 57 else 32 for code in range(256))
_TOKEN_CHARACTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_TOKENS_ONLY = bytes(97 if code in _TOKEN_CHARACTERS else 32 for code in range(256))
JSON_ESCAPES = ("\\n", "\\r", "\\t", "\\b", "\\f")
_LONG_NUMBER = b"0" * 8
_LONG_TOKEN = b"a" * TOKEN_RUN


class DefaultRedactor:
    """Patterns only: it finds what has a shape, not names or addresses of people."""

    def redact(self, text: str) -> tuple[str, Counter[str]]:
        """The text with what was found replaced by `[EMAIL]`, `[PHONE]`, `[CARD]`, `[SECRET]`, and how many of each."""
        found: Counter[str] = Counter()
        for pattern in _likely(text):
            text = _replaced(text, pattern, found)
        if len(text) >= len(_LONG_NUMBER) and _has_long_number(text):
            text = _numbers_replaced(text, found)
        return text, found


def _likely(text: str) -> list[Pattern]:
    """The patterns worth trying: those whose fixed part is in the text."""
    likely: list[Pattern] = []
    if len(text) < 6:
        return likely
    if len(text) >= TOKEN_RUN and _LONG_TOKEN in text.encode("utf-8", "replace").translate(_TOKENS_ONLY):
        likely.append(TOKENS)
    if "PRIVATE KEY-----" in text:
        likely.append(PRIVATE_KEY)
    lower = text.lower()
    if "bearer" in lower:
        likely.append(BEARER)
    if "passw" in lower or "secret" in lower or "token" in lower or "api" in lower:
        likely.append(ASSIGNED)
    if "@" in text:
        if "://" in text:
            likely.append(URL_LOGIN)
        likely.append(EMAIL)
    return likely


def _has_long_number(text: str) -> bool:
    return _LONG_NUMBER in text.encode("utf-8", "replace").translate(_DIGITS_ONLY, _SEPARATORS)


def _replaced(text: str, pattern: Pattern, found: Counter[str]) -> str:
    placeholder = f"[{pattern.kind}]"

    def replace(match: re.Match[str]) -> str:
        if match[pattern.group] == placeholder:
            return match[0]
        found[pattern.kind] += 1
        start, end = match.start(pattern.group) - match.start(), match.end(pattern.group) - match.start()
        return match[0][:start] + placeholder + match[0][end:]

    return pattern.regex.sub(replace, text)


def _numbers_replaced(text: str, found: Counter[str]) -> str:
    pieces: list[str] = []
    done = position = 0
    while match := NUMBER_RUN.search(text, position):
        start, position = _whole_groups(text, *match.span())
        card = card_in(text[start:position])
        if card is not None:
            start, position = start + card[0], start + card[1]
        else:
            while start > done and text[start - 1] in "+(":
                start -= 1
            if not is_phone(text[start:position]):
                continue
        kind = "PHONE" if card is None else "CARD"
        found[kind] += 1
        pieces += [text[done:start], f"[{kind}]"]
        done = position
    return "".join([*pieces, text[done:]]) if pieces else text


def _whole_groups(text: str, start: int, end: int) -> tuple[int, int]:
    """The run without a first or last group of digits that is part of a word, such as the 9 of `\\u00e9` or of `9th`."""
    groups = [match.span() for match in GROUP.finditer(text, start, end)]
    if text[start - 1 : start].isalnum() and text[start - 2 : start] not in JSON_ESCAPES:
        del groups[0]
    if text[end : end + 1].isalnum() and groups:
        del groups[-1]
    return (groups[0][0], groups[-1][1]) if groups else (end, end)
