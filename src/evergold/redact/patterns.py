"""What is redacted by default, as patterns over plain text.

The patterns are also safe on a text that is itself JSON: they match no quote and no backslash, and a match may begin
right after an escape such as `\\n`, so redacting leaves the document readable.
"""

import re
from dataclasses import dataclass

START = r"(?:(?<![A-Za-z0-9_\\])|(?<=\\[nrtbf\\])|(?<=\\u[0-9a-f]{4})|(?<=\\)(?![nrtbfu]))"
TOKEN_RUN = 16  # the shortest secret below is a run of this many characters without a space


@dataclass(frozen=True)
class Pattern:
    """A kind of private text. `group` is the part replaced; 0 is all of it.

    A pattern is tried only where one of its `hints` (lower case) is: right there, or, when `before` is given, in the
    characters from so many before the hint to `after` behind it.
    """

    kind: str
    regex: re.Pattern[str]
    group: int = 0
    hints: tuple[bytes, ...] = ()
    before: int = 0
    after: int = 0


TOKENS = Pattern(
    "SECRET",
    re.compile(
        START + r"(?:"
        r"sk-[A-Za-z0-9_-]{16,}"
        r"|(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}"
        r"|gh[pousr]_[A-Za-z0-9]{20,}"
        r"|github_pat_[A-Za-z0-9_]{20,}"
        r"|glpat-[A-Za-z0-9_-]{16,}"
        r"|hf_[A-Za-z0-9]{20,}"
        r"|npm_[A-Za-z0-9]{20,}"
        r"|pypi-[A-Za-z0-9_-]{20,}"
        r"|xox[abeoprs]-[A-Za-z0-9-]{12,}"
        r"|(?:AKIA|ASIA)[A-Z0-9]{16}"
        r"|AIza[A-Za-z0-9_-]{30,}"
        r"|ya29\.[A-Za-z0-9_-]{20,}"
        r"|eyJ[A-Za-z0-9_-]{13,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
        r")"
    ),
)
PRIVATE_KEY = Pattern(
    "SECRET",
    re.compile(
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY-----"
        r"(?:[A-Za-z0-9+/=\s\\:,]|-(?!----))*"
        r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY-----"
    ),
    hints=(b"private key-----",),
    before=40,
    after=20_000,
)
BEARER = Pattern("SECRET", re.compile(r"(?i)bearer\s+([A-Za-z0-9._~+/-]{16,}=*)"), 1, hints=(b"bearer",))
ASSIGNED = Pattern(
    "SECRET",
    re.compile(
        r"(?i)(?:passw(?:or)?d|secret|api[_-]?key|(?:(?<=access)|(?<=access[_-])|(?<=auth)|(?<=auth[_-]))token)"
        r"\\?[\"']?\s{0,3}[:=]\s{0,3}\\?[\"']?([^\s\"'\\,;{}\[\]()]{6,})"
    ),
    1,
    hints=(b"passw", b"secret", b"token", b"api"),
)
URL_LOGIN = Pattern(
    "SECRET", re.compile(r"://[^\s/:@\"'\\]{1,64}:([^\s/@\"'\\]{1,128})@"), 1, hints=(b"://",), after=220
)
EMAIL = Pattern(
    "EMAIL",
    re.compile(
        START + r"[A-Za-z0-9](?:[A-Za-z0-9._%+-]{0,62}[A-Za-z0-9_%+-])?@"
        r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,24}\b"
    ),
    hints=(b"@",),
    before=70,
    after=300,
)
HINTED = (PRIVATE_KEY, BEARER, ASSIGNED, URL_LOGIN, EMAIL)
NUMBER_RUN = re.compile(r"[0-9](?:[ ().-]{0,2}[0-9]){7,30}")
SEPARATORS = b" ().-"
PHONE = re.compile(
    r"\+[0-9][0-9 ().-]{6,22}"  # international, with its plus
    r"|\(?[0-9]{2,4}\)?[ -][0-9]{3,4}[ -][0-9]{3,4}"  # national, in groups
    r"|\(?[0-9]{2,4}\)?[ -][0-9]{2,4}[ -][0-9]{2,4}[ -][0-9]{2,4}"
    r"|[0-9]{3}\.[0-9]{3}\.[0-9]{4}"
    r"|\([0-9]{2,4}\) ?[0-9]{3,4}[ -]?[0-9]{3,5}"
)
DAY = re.compile(rb"(?:19|20)[0-9]{2}-[0-9]{2}-[0-9]{2}")
DATE = re.compile(r"(?:19|20)[0-9]{2}[ .-][0-9]{2}[ .-][0-9]{2}")


GROUP = re.compile(r"[0-9]+")


CARD_DIGITS = 13  # the fewest of a card number; the most are 19
CARD_GROUPS = 5  # the most it is written in


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
