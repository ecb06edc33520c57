"""The default redactor: secrets, e-mail addresses, phone numbers and card numbers become typed placeholders.

It reads every text that is stored, and nearly all of them hold nothing. So it looks for the little that every private
thing has (an @, a long run of digits, a long run without a space) and asks the exact patterns only there.
"""

import re
from collections import Counter
from collections.abc import Iterator

from evergold.redact.patterns import (
    CARD_DIGITS,
    DAY,
    GROUP,
    HINTED,
    NUMBER_RUN,
    SEPARATORS,
    TOKEN_RUN,
    TOKENS,
    Pattern,
    card_in,
    is_phone,
)

_TOKEN_CHARACTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")
_TOKEN_MARKS = bytes(97 if code in _TOKEN_CHARACTERS else 32 for code in range(256))
_LONG_TOKEN = b"a" * TOKEN_RUN
_NUMBER_MARKS = bytes(48 if 48 <= code <= 57 else 45 if code in SEPARATORS else 120 for code in range(256))
_NUMBER = re.compile(rb"0(?:-{0,2}0){7,30}")
JSON_ESCAPES = ("\\n", "\\r", "\\t", "\\b", "\\f")
MOST_TRIES = 1000  # after so many hints in vain the whole text is redacted in one go, which is cheaper
AROUND = 3  # characters beside a run of digits that decide what it is


class DefaultRedactor:
    """Patterns only: it finds what has a shape, not names or addresses of people."""

    def redact(self, text: str) -> tuple[str, Counter[str]]:
        """The text with what was found replaced by `[EMAIL]`, `[PHONE]`, `[CARD]`, `[SECRET]`, and how many of each."""
        found: Counter[str] = Counter()
        if next(self.suspicious(text), None) is None:
            return text, found
        for pattern in (TOKENS, *HINTED):
            text = _replaced(text, pattern, found)
        return _numbers_replaced(text, found), found

    def suspicious(self, text: str) -> Iterator[int]:
        """Where something private is: so many texts can be looked at as one, and only those that hold any be redacted."""
        data = text.encode("ascii", "replace")  # every pattern is ASCII, and so each character keeps its place
        yield from _tokens(data)
        lower = data.lower()
        for pattern in HINTED:
            yield from _hinted(text, lower, pattern)
        yield from _numbers(text, data)


def _tokens(data: bytes) -> Iterator[int]:
    marks = data.translate(_TOKEN_MARKS)
    start = marks.find(_LONG_TOKEN)
    while start >= 0:
        end = marks.find(b" ", start)
        end = len(marks) if end < 0 else end
        if TOKENS.regex.search(data[max(0, start - 1) : end].decode("ascii")):
            yield start
        start = marks.find(_LONG_TOKEN, end)


def _hinted(text: str, lower: bytes, pattern: Pattern) -> Iterator[int]:
    for hint in pattern.hints:
        at = lower.find(hint)
        tries = 0
        while at >= 0:
            tries += 1
            if pattern.before:
                found = pattern.regex.search(text, max(0, at - pattern.before), at + pattern.after)
            else:
                found = pattern.regex.match(text, at)
            if found or tries > MOST_TRIES:
                yield at
            at = -1 if tries > MOST_TRIES else lower.find(hint, at + len(hint))


def _numbers(text: str, data: bytes) -> Iterator[int]:
    for match in _NUMBER.finditer(data.translate(_NUMBER_MARKS)):
        start, end = match.span()
        if not DAY.fullmatch(data, start, end):
            near = text[max(0, start - AROUND) : end + AROUND]
            if _numbers_replaced(near, Counter()) != near:
                yield start


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
        card = card_in(text[start:position]) if position - start >= CARD_DIGITS else None
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
