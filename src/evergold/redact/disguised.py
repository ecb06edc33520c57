"""E-mail addresses in disguise: `jo [at] example.com`, "jo at example dot com", `jo @ example.com`, HTML entities throughout.

A disguise is also plain language ("look at example dot com"), so the last label must be a top domain that people use, and
where only words make the disguise, the word before "at" must not be one that a sentence puts there.
"""

from collections.abc import Iterator
from html import unescape

from evergold.redact.emails import local_start
from evergold.redact.folding import Folded, byte_pattern, matches
from evergold.redact.spans import PrivateSpan

EMAIL = "EMAIL"
OPEN, CLOSE = rb"[\[({<]", rb"[\])}>]"
LABEL = rb"[A-Za-z0-9](?:[A-Za-z0-9-]{0,40}[A-Za-z0-9])?"
DOT_WORD = rb"(?:dot|DOT|Dot|punto|punkt|ponto)"
DOT = (
    rb"(?:\.|\s{0,2}"
    + OPEN
    + rb"\s?(?:"
    + DOT_WORD
    + rb"|\.|point)\s?"
    + CLOSE
    + rb"\s{0,2}|\s{1,2}"
    + DOT_WORD
    + rb"\s{1,2})"
)
AT_WORD = rb"(?i:at|@|\xe4t|arroba|chiocciola|arobase)"
BRACKETED = byte_pattern(
    OPEN + rb"\s?" + AT_WORD + rb"\s?" + CLOSE + rb"\s{0,2}" + LABEL + rb"(?:" + DOT + LABEL + rb"){1,5}"
)
SPELLED = byte_pattern(rb"\s(?:at|AT|At|arroba)\s" + LABEL + rb"(?:\s" + DOT_WORD + rb"\s" + LABEL + rb"){1,4}")
LOOSE = byte_pattern(rb"\s@\s" + LABEL + rb"(?:\s?\.\s?" + LABEL + rb"){1,4}")
NAME = byte_pattern(rb"[A-Za-z0-9_+-]{1,32}(?:(?:\s" + DOT_WORD + rb"\s|\.)[A-Za-z0-9_+-]{1,32}){0,4}\z")
ENTITIES = byte_pattern(rb"(?:&#(?:[xX][0-9a-fA-F]{2,4}|[0-9]{2,4});){5,}")
DISGUISES = (BRACKETED, SPELLED, LOOSE, ENTITIES)
PLAIN = byte_pattern(rb"[^\s@]{1,64}@[^\s@.]+(?:\.[^\s@.]+)+")
# Bounds how far back a name is sought, so that a text of a thousand "at" stays linear.
WINDOW = 100
LONGEST = 600
TOPS = frozenset(
    b"com org net edu gov mil int io ai app dev co me info biz xyz cloud online site tech tv name pro eu uk us ca mx br ar cl pe "
    b"es pt fr de at ch it nl be lu ie dk se no fi is pl cz sk hu ro bg gr tr ru ua by kz il ae sa eg za ng ke in pk bd lk cn hk "
    b"tw jp kr sg my th vn ph id au nz".split()
)
# Top domains that are also words: "@ example . in" is prose with spaces as often as a domain.
LOOSE_TOPS = TOPS - frozenset(b"is in it id me no at be my us name pro int site".split())
NO_NAMES = frozenset(
    b"me us him her them it you we he she they i is are was were be been site sites page pages located hosted available visit "
    b"here there online only that this these and or not shop buy order read more look looks looking arrive work works working "
    b"worked live lives start started used running listed posted up out back down now today people someone everyone meet met aim "
    b"aimed laugh stare point pointing stay stayed good bad data docs one two company business startup engineer".split()
)


def disguised_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find addresses that are written so that programs do not see them."""
    data = folded.data
    for ((at, last),) in matches(BRACKETED, data):
        sign = _behind_blanks(data, at)
        named = _is_domain(data, at, last, TOPS) and data[sign - 1 : sign].isalnum()
        if named and (start := _spelled_start(data, sign)) is not None:
            yield PrivateSpan(EMAIL, start, last)
    for ((at, last),) in matches(SPELLED, data):
        start = _spelled_start(data, at) if _is_domain(data, at, last, TOPS) else None
        if start is not None and data[start:at].lower() not in NO_NAMES:
            yield PrivateSpan(EMAIL, start, last)
    if b"@" in data:
        for ((at, last),) in matches(LOOSE, data):
            start = local_start(data, _behind_blanks(data, at), 0) if _is_domain(data, at, last, LOOSE_TOPS) else None
            if start is not None:
                yield PrivateSpan(EMAIL, start, last)
    if b"&#" in data:
        for ((at, last),) in matches(ENTITIES, data):
            if last - at <= LONGEST and PLAIN.fullmatch(unescape(data[at:last].decode("ascii")).encode()):
                yield PrivateSpan(EMAIL, at, last)


def _behind_blanks(data: bytes, start: int) -> int:
    """Step back over at most two blanks."""
    for _ in range(2):
        if data[start - 1 : start] in (b" ", b"\t"):
            start -= 1
    return start


def _spelled_start(data: bytes, end: int) -> int | None:
    """Where the name before "at" begins, with its own "dot" words; None if there is none."""
    first = max(0, end - WINDOW)
    name = NAME.search(data[first:end])
    if name is None:
        return None
    start = first + name.start()
    # A name cut out of a longer word is no name; letters of unspaced scripts (\x81) always touch what follows.
    glued = start > 0 and (data[start - 1 : start].isalnum() or (data[start - 1] >= 0x80 and data[start - 1] != 0x81))
    return None if glued or data[start - 1 : start] == b"\\" else start


def _is_domain(data: bytes, start: int, end: int, tops: frozenset[bytes]) -> bool:
    """Whether the domain ends there, which must be with a known top domain."""
    if data[end : end + 1].isalnum():
        return False
    top = end
    while top > start and data[top - 1 : top].isalnum():
        top -= 1
    return data[top:end].lower() in tops
