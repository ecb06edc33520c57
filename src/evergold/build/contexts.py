"""Contexts: trimmed, numbered, each still in its place beside its source.

Works on the JSON text of each string, not on its value: a context that needs no trimming keeps its very bytes (escapes
included), one that needs it loses only its ends, and a number is put right behind the opening quotation mark. Only a string
whose ends are in doubt is decoded, to see.
"""

import re
from collections.abc import Sequence

import msgspec

_PRINTED = bytes(byte for byte in range(0x21, 0x7F) if byte not in b'"\\')
# UTF-8 lead bytes; those left out begin characters of which some are white space (U+0085, U+1680, U+2000, U+3000).
_PLAIN_START = _PRINTED + bytes((*range(0xC3, 0xE1), *range(0xE4, 0xF5)))
"""First bytes of characters that are no white space, nor the beginning of an escape."""
_PLAIN_END = _PRINTED + bytes((*range(0x8B, 0x9F), *range(0xA1, 0xA8), *range(0xAA, 0xAF), *range(0xB0, 0xC0)))
"""Last bytes of such characters."""
_SEEN = b'"\\/'
"""Escaped characters that are no white space."""
_NUMBERED = re.compile(rb'"\[(\d+)\]')
_LEADING = re.compile(rb'"(?: |\\[nrtf])*')
_LETTERS = b"nrtf"
_WHITE = re.compile(
    rb"(?: |\\[nrtf]|\\u(?i:000[9a-d]|001[c-f]|0020|0085|00a0|1680|200[0-9a]|202[89f]|205f|3000)"
    rb"|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)"
)
"""What `str.strip` takes for white space, as JSON may have it."""
_LEADING_WHITE, _LAST_WHITE = re.compile(b'"%b*' % _WHITE.pattern), re.compile(rb"%b\Z" % _WHITE.pattern)
# Bytes of the longest spelling of one white space, `\u3000`.
_LONGEST_WHITE = 6
_BACKSLASH, _BRACKET, _BLANK = b"\\[ "
_decode_text = msgspec.json.Decoder(str).decode


def begins_plainly(raw: bytes) -> bool:
    """Whether a JSON string begins with a character that is plainly no white space."""
    return raw[1] in _PLAIN_START or (raw[1] == _BACKSLASH and raw[2] in _SEEN)


def ends_plainly(raw: bytes) -> bool:
    """Whether it ends with such a character."""
    if raw[-3:-2] == b"\\" and _is_escaped(raw, len(raw) - 2):
        return raw[-2] in _SEEN
    # A \u escape at the end may be white space, so it is not plain.
    if len(raw) > 7 and raw[-7:-5] == b"\\u" and _is_escaped(raw, len(raw) - 6):
        return False
    return raw[-2] in _PLAIN_END


def _is_escaped(raw: bytes, index: int) -> bool:
    """Whether the byte there is the letter of an escape."""
    start = index
    # An even run of backslashes escapes itself; only an odd one makes the next byte a letter of an escape.
    while raw[start - 1] == _BACKSLASH:
        start -= 1
    return (index - start) % 2 == 1


def plainly_trimmed(raw: bytes) -> bytes:
    """The JSON string without blanks, line breaks and tabs at its ends; the same bytes when there were none."""
    if begins_plainly(raw) and ends_plainly(raw):
        return raw
    start = _LEADING.match(raw).end()  # type: ignore[union-attr]
    end = len(raw) - 1
    while end > start:
        if raw[end - 1] == _BLANK:
            end -= 1
        elif raw[end - 1] in _LETTERS and _is_escaped(raw, end - 1):
            end -= 2
        else:
            break
    return b'"%b"' % raw[start:end]


def trimmed(raw: bytes) -> bytes:
    """The JSON string without any white space at its ends. What is left keeps its bytes, escapes included."""
    short = plainly_trimmed(raw)
    if short == b'""' or (begins_plainly(short) and ends_plainly(short)):
        return short
    text = _decode_text(short)
    bare = text.rstrip()
    start = _LEADING_WHITE.match(short).end()  # type: ignore[union-attr]
    inside = short[start:-1]
    # One white space at a time from the end: each may be spelled as itself, as an escape or as \uXXXX.
    for _ in range(len(text) - len(bare) if bare else 0):
        inside = inside[: -len(_LAST_WHITE.search(inside[-_LONGEST_WHITE:])[0])]  # type: ignore[index]
    return b'"%b"' % inside


def is_blank(raw: bytes) -> bool:
    """Whether the JSON string holds nothing but white space."""
    return not begins_plainly(raw) and not _decode_text(raw).strip()


def numbered(contexts: Sequence[bytes]) -> list[bytes]:
    """Every context as `[n] text`, unless each already begins with a number in brackets.

    A lost context (null) or an empty one stays as its bare number, so that the place still belongs to its source.
    """
    texts = [b'""' if raw == b"null" else trimmed(raw) for raw in contexts]
    labels = [text[1] == _BRACKET and _NUMBERED.match(text) for text in texts]
    if all(labels):
        return texts
    # Empty contexts have no label of their own and do not decide whether the others keep theirs.
    full = [label for label, text in zip(labels, texts, strict=True) if text != b'""']
    keep_all = all(full)
    result = []
    for index, (label, text) in enumerate(zip(labels, texts, strict=True), 1):
        if text == b'""':
            result.append(b'"[%d]"' % index)
        elif label and (keep_all or label[1] == b"%d" % index):
            result.append(text)
        else:
            result.append(b'"[%d] %b' % (index, text[1:]))
    return result


def renumbered(contexts: Sequence[bytes], text: bytes) -> bytes:
    """The inside of a list of contexts, numbered; `text`, as it was written, when that changes none of them."""
    texts = numbered(contexts)
    return text if texts == contexts else b",".join(texts)
