"""Telephone and card numbers: what tells them from the other digits of a text."""

import re
from collections import Counter

NUMBER_RUN = re.compile(r"[0-9](?:[ ().-]{0,2}[0-9]){7,30}")
SEPARATORS = b" ().-"
PHONE = re.compile(
    r"\+[0-9][0-9 ().-]{6,22}"  # international, with its plus
    r"|\(?[0-9]{2,4}\)?[ -][0-9]{3,4}[ -][0-9]{3,4}"  # national, in groups
    r"|\(?[0-9]{2,4}\)?[ -][0-9]{2,4}[ -][0-9]{2,4}[ -][0-9]{2,4}"
    r"|[0-9]{3}\.[0-9]{3}\.[0-9]{4}"
    r"|\([0-9]{2,4}\) ?[0-9]{3,4}[ -]?[0-9]{3,5}"
)
DATE = re.compile(r"(?:19|20)[0-9]{2}[ .-][0-9]{2}[ .-][0-9]{2}")
DECIMAL = re.compile(r"[0-9]+\.[0-9]+")
GROUP = re.compile(r"[0-9]+")
CARD_DIGITS = 13  # the fewest of a card number; the most are 19
CARD_GROUPS = 5  # the most it is written in
JSON_ESCAPES = ("\\n", "\\r", "\\t", "\\b", "\\f")


def numbers_replaced(text: str) -> tuple[str, Counter[str]]:
    """The text with its telephone and card numbers replaced, and how many of each."""
    found: Counter[str] = Counter()
    pieces: list[str] = []
    done = position = 0
    while match := NUMBER_RUN.search(text, position):
        start, position = _whole_groups(text, *match.span())
        if DECIMAL.fullmatch(text, start, position):
            continue
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
    return "".join([*pieces, text[done:]]), found


def _whole_groups(text: str, start: int, end: int) -> tuple[int, int]:
    """The run without a first or last group of digits that is part of a word, such as the 9 of `\\u00e9` or of `9th`."""
    groups = [match.span() for match in GROUP.finditer(text, start, end)]
    if text[start - 1 : start].isalnum() and text[start - 2 : start] not in JSON_ESCAPES:
        del groups[0]
    if text[end : end + 1].isalnum() and groups:
        del groups[-1]
    return (groups[0][0], groups[-1][1]) if groups else (end, end)


def card_in(run: str) -> tuple[int, int] | None:
    """Where in a run of digit groups a card number stands: an expiry date or another number may be beside it."""
    groups = [match.span() for match in GROUP.finditer(run)]
    if sum(end - start for start, end in groups) < CARD_DIGITS:
        return None
    for first, (start, _) in enumerate(groups):
        for _, end in groups[first : first + CARD_GROUPS]:
            if end - start >= CARD_DIGITS and is_card(run[start:end]):
                return start, end
    return None


def is_card(run: str) -> bool:
    """13 to 19 digits, alone or in groups, that pass the Luhn check and begin as card numbers do."""
    digits = [int(character) for character in run if character.isdecimal()]
    if not CARD_DIGITS <= len(digits) <= 19 or digits[0] not in (2, 3, 4, 5, 6) or "." in run or "(" in run:
        return False
    doubled = (digit if index % 2 == 0 else sum(divmod(2 * digit, 10)) for index, digit in enumerate(reversed(digits)))
    return sum(doubled) % 10 == 0


def is_phone(run: str) -> bool:
    """A plus, brackets or groups: bare digits are as often an order number, and a date is no phone number."""
    count = sum(character.isdecimal() for character in run)
    return 8 <= count <= 15 and PHONE.fullmatch(run) is not None and DATE.match(run) is None
