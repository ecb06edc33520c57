"""Contexts: trimmed, numbered, each still in its place beside its source.

Works on the JSON text of each string, not on its value: a context that needs no trimming keeps its very bytes (escapes
included), and a number is put right behind the opening quotation mark. Only a string whose edges could be white space is decoded.
"""

import re
from collections.abc import Sequence

import msgspec

_PRINTED = bytes(byte for byte in range(0x21, 0x7F) if byte not in b'"\\')
_PLAIN_START = _PRINTED + bytes((*range(0xC3, 0xE1), *range(0xE4, 0xF5)))
"""First bytes of characters that are no white space, nor the beginning of an escape."""
_PLAIN_END = _PRINTED + bytes((*range(0x8B, 0x9F), *range(0xA1, 0xA8), *range(0xAA, 0xAF), *range(0xB0, 0xC0)))
"""Last bytes of such characters."""
_SEEN = b'"\\/'
"""Escaped characters that are no white space."""
_NUMBERED = re.compile(rb'"\[(\d+)\]')
_BACKSLASH, _BRACKET = b"\\["
_decode_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


def begins_plainly(raw: bytes) -> bool:
    """Whether a JSON string begins with a character that is plainly no white space."""
    return raw[1] in _PLAIN_START or (raw[1] == _BACKSLASH and raw[2] in _SEEN)


def ends_plainly(raw: bytes) -> bool:
    """Whether it ends with such a character."""
    if raw[-3] == _BACKSLASH and _is_escaped(raw, -2):
        return raw[-2] in _SEEN
    if len(raw) > 7 and raw[-7:-5] == b"\\u" and _is_escaped(raw, -6):
        return False
    return raw[-2] in _PLAIN_END


def _is_escaped(raw: bytes, place: int) -> bool:
    """Whether the byte there is the letter of an escape."""
    before = raw[:place]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1


def trimmed(raw: bytes) -> bytes:
    """The JSON string without white space at its ends; the same bytes when there was none."""
    if begins_plainly(raw) and ends_plainly(raw):
        return raw
    text = _decode_text(raw)
    bare = text.strip()
    return raw if bare == text else _encode(bare)


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
    full = [label for label, text in zip(labels, texts, strict=True) if text != b'""']
    keep_all = all(full)
    result = []
    for place, (label, text) in enumerate(zip(labels, texts, strict=True), 1):
        if text == b'""':
            result.append(b'"[%d]"' % place)
        elif label and (keep_all or label[1] == b"%d" % place):
            result.append(text)
        else:
            result.append(b'"[%d] %b' % (place, text[1:]))
    return result


def renumbered(contexts: Sequence[bytes], text: bytes) -> bytes:
    """The inside of a list of contexts, numbered; `text`, as it was written, when that changes none of them."""
    texts = numbered(contexts)
    return text if texts == contexts else b",".join(texts)
