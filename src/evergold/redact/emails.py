"""E-mail addresses: plain, with letters beyond ASCII (`josé@exämple.de`, `用户@例子.公司`), quoted, and in disguise.

Each is sought from its sign: an @ (also `%40` and `&#64;`) with a domain behind it, then what stands before it. A text that is
JSON may hold a letter as an escape, `jos\u00e9@…`: an escape is taken whole or not at all, so what is left is still JSON. Where
words are written without spaces between them, an ASCII address ends where ASCII ends, and any other is taken with the
letters around it.

A disguise (`jo [at] example.com`, "jo at example dot com", `jo @ example.com`, HTML entities throughout) is also plain language
("look at example dot com"): the last label must be a top domain that people use, and where only words make the disguise,
the word before "at" must not be one that a sentence puts there.
"""

from collections.abc import Iterator
from html import unescape

from evergold.redact.spans import Folded, PrivateSpan, byte_pattern, matches

EMAIL = "EMAIL"
ESCAPE = (  # of a letter, in JSON, in JSON that is a text of JSON, and once more
    rb"\\{1,8}u(?:00[c-fC-F]|0[1-9a-fA-F][0-9a-fA-F]|1[0-9a-fA-F]{2}|30[4-9a-fA-F]|3[4-9a-fA-F][0-9a-fA-F]"
    rb"|[4-9a-cA-C][0-9a-fA-F]{2}|[dD][0-7][0-9a-fA-F])[0-9a-fA-F]"
)
ACCENTED = rb"\xaa\xb5\xba\xc0-\xd6\xd8-\xf6\xf8-\xff\x80"
LETTER = rb"(?:[A-Za-z0-9" + ACCENTED + rb"\x81]|" + ESCAPE + rb")"
LABEL = LETTER + rb"(?:(?:" + LETTER + rb"|-)*" + LETTER + rb")?"
TOP = rb"(?:[A-Za-z]{2,24}\b|xn--[A-Za-z0-9-]{2,59}|(?:[" + ACCENTED + rb"\x81]|" + ESCAPE + rb"){2,24})"
DOMAIN = rb"(?:" + LABEL + rb"\.)+" + TOP
AT = rb"(?:@|%(?:25)?40|&(?:#0{0,2}64|#[xX]0{0,2}40|commat);)"
PLAIN = byte_pattern(AT + DOMAIN)  # no group: with one, RE2 matches in a slower way
SIGN = byte_pattern(AT)
BEFORE = byte_pattern(rb"(?:[A-Za-z0-9" + ACCENTED + rb"._%+-]|" + ESCAPE + rb")+\z")
BEFORE_UNSPACED = byte_pattern(rb"(?:[A-Za-z0-9" + ACCENTED + rb"\x81]|" + ESCAPE + rb"){1,32}\z")
QUOTED_BEFORE = byte_pattern(rb"\\{0,3}\"[^\"\\\r\n]{1,64}\\{0,3}\"\z")
PICTURE = byte_pattern(rb"[1-4]x\.(?:png|jpe?g|gif|webp|svg|avif|ico)")  # logo@2x.png
# RFC 5321 allows 64 characters before the @; an escaped letter takes six bytes or more.
LONGEST, LONGEST_ESCAPED = 64, 600
LEADING, DOT, BACKSLASH = b"._%+-", ord("."), ord("\\")
HEX = byte_pattern(rb"[0-9a-fA-F]{4}")
LOCAL = frozenset(byte for byte in range(256) if BEFORE.fullmatch(bytes((byte,))))
LOCAL_UNSPACED = frozenset(byte for byte in range(256) if BEFORE_UNSPACED.fullmatch(bytes((byte,))))


def addresses_in(folded: Folded) -> Iterator[PrivateSpan]:
    """Find addresses with an @ in any of its writings."""
    data, done = folded.data, 0
    if b"@" not in data and b"40" not in data and b"&" not in data:
        return
    for ((at, end),) in matches(PLAIN, data):
        start = local_start(data, at, done)
        if start is None or (data.find(b"x.", at, end) >= 0 and _is_picture(data, at, end)):
            continue
        if data[end : end + 1] in (b":", b"/") and data[start:at] == b"git":
            continue  # where a repository is, not who
        yield PrivateSpan(EMAIL, start, end)
        done = end


def _is_picture(data: bytes, at: int, end: int) -> bool:
    sign = SIGN.match(data, at, end)
    return sign is not None and PICTURE.fullmatch(data, sign.end(), end) is not None


def local_start(data: bytes, at: int, done: int) -> int | None:
    """Where the part before the @ begins; None if there is none."""
    if data[at - 1 : at] == b'"':
        first = max(done, at - LONGEST - 8)
        quoted = next(matches(QUOTED_BEFORE, data[first:at]), None)
        return None if quoted is None else first + quoted[0][0]
    # `done` is the end of the address before: no character is read twice, which keeps `a@a@a@…` linear.
    first = at - LONGEST if at - LONGEST > done else done
    if data.find(b"\\u", first, at) >= 0:
        first = max(done, at - LONGEST_ESCAPED)
        window = data[first:at]
        before = BEFORE.search(window) or BEFORE_UNSPACED.search(window)
        start = at - len(before[0]) if before else at
    else:
        start = _run_start(data, at, first, LOCAL)
        # No spaced letter stands there: perhaps a name in an unspaced script, where half the length bounds the sentence.
        if start == at:
            start = _run_start(data, at, max(first, at - LONGEST // 2), LOCAL_UNSPACED)
    if start == at or data[at - 1] == DOT:
        return None
    return _trim(data, start, at, cut=start == first > done)


def _run_start(data: bytes, end: int, first: int, allowed: frozenset[int]) -> int:
    while end > first and data[end - 1] in allowed:
        end -= 1
    return end


def _trim(data: bytes, start: int, at: int, *, cut: bool) -> int | None:
    """Begin with a letter or digit that begins a word. `cut`: the run was longer than a name may be."""
    if data[start - 1 : start] == b"\\":
        start = _behind_escape(data, start, at)
    before = data[start - 1 : start]
    if cut and (before.isalnum() or before == b"_" or before >= b"\xc0"):
        while start < at and data[start] not in LEADING:
            start += 1
    while start < at and data[start] in LEADING:
        start += 1
    return start if start < at else None


def _behind_escape(data: bytes, start: int, at: int) -> int:
    """Begin behind the letter of an escape (the n of `\\njo@example.com`), or with all backslashes of an escaped letter."""
    if data[start] == BACKSLASH:
        while data[start - 1 : start] == b"\\":
            start -= 1
        return start
    if data[start] == ord("u") and HEX.match(data, start + 1, at):
        return start + 5
    return start + (data[start] in b"nrtbf")


OPEN, CLOSE = r"[\[({<]", r"[\])}>]"
PLAIN_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,40}[A-Za-z0-9])?"
AT_WORD = r"(?i:at|@|\xe4t|arroba|chiocciola|arobase)"
DOT_WORD = r"(?:dot|DOT|Dot|punto|punkt|ponto)"
ANY_DOT = rf"(?:\.|\s{{0,2}}{OPEN}\s?(?:{DOT_WORD}|\.|point)\s?{CLOSE}\s{{0,2}}|\s{{1,2}}{DOT_WORD}\s{{1,2}})"
BRACKETED = byte_pattern(rf"{OPEN}\s?{AT_WORD}\s?{CLOSE}\s{{0,2}}{PLAIN_LABEL}(?:{ANY_DOT}{PLAIN_LABEL}){{1,5}}")
SPELLED = byte_pattern(rf"\s(?:at|AT|At|arroba)\s{PLAIN_LABEL}(?:\s{DOT_WORD}\s{PLAIN_LABEL}){{1,4}}")
LOOSE = byte_pattern(rf"\s@\s{PLAIN_LABEL}(?:\s?\.\s?{PLAIN_LABEL}){{1,4}}")
NAME = byte_pattern(rf"[A-Za-z0-9_+-]{{1,32}}(?:(?:\s{DOT_WORD}\s|\.)[A-Za-z0-9_+-]{{1,32}}){{0,4}}\z")
ENTITIES = byte_pattern(rb"(?:&#(?:[xX][0-9a-fA-F]{2,4}|[0-9]{2,4});){5,}")
DISGUISES = (BRACKETED, SPELLED, LOOSE, ENTITIES)
UNESCAPED = byte_pattern(rb"[^\s@]{1,64}@[^\s@.]+(?:\.[^\s@.]+)+")
# Bounds how far back a name is sought, so that a text of a thousand "at" stays linear.
WINDOW = 100
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
            if last - at <= LONGEST_ESCAPED and UNESCAPED.fullmatch(unescape(data[at:last].decode("ascii")).encode()):
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
