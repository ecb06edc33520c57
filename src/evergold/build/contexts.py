"""Contexts: trimmed, numbered, each still in its place beside its source.

Works on the JSON text of each string, not on its value: a context that needs no trimming keeps its very bytes (escapes
included), and a number is put right behind the opening quotation mark. Only a string whose edges could be white space is decoded.
"""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Raw

PLAIN_EDGE = frozenset(byte for byte in range(0x21, 0x7F) if byte not in b'"\\')
_PLAIN_END = PLAIN_EDGE - frozenset(b"nrtf0123456789abcdABCD")
"""Neither white space nor the last byte of an escape that stands for it."""
_NUMBERED = re.compile(rb'"\[(\d+)\]')
_BACKSLASH, _BRACKET, _QUOTE = ord("\\"), ord("["), ord('"')
_PREFIXES = (b'"[1] ', *(b',"[%d] ' % place for place in range(2, 65)))
_decode_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


def trimmed(raw: bytes) -> bytes:
    """The JSON string without white space at its ends; the same bytes when there was none."""
    if raw[1] in PLAIN_EDGE and not _ends_in_doubt(raw):
        return raw
    text = _decode_text(raw)
    bare = text.strip()
    return raw if bare == text else _encode(bare)


def is_blank(raw: bytes) -> bool:
    """Whether the JSON string holds nothing but white space."""
    return not (len(raw) > 2 and raw[1] in PLAIN_EDGE) and not _decode_text(raw).strip()


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


def numbered_pieces(contexts: Sequence[Raw]) -> Sequence[bytes | memoryview] | None:
    """The numbered contexts as pieces of JSON text to put side by side; None when one of them needs a closer look.

    The short way for contexts that are all text, none of them empty, and all or none of them numbered.
    """
    texts: list[bytes | memoryview] = []
    bracketed = 0
    for raw in contexts:
        view: bytes | memoryview = memoryview(raw)
        if view[0] != _QUOTE:
            return None
        if view[1] not in PLAIN_EDGE or (view[-2] not in _PLAIN_END and _ends_in_doubt(view)):
            view = trimmed(bytes(view))
            if view == b'""':
                return None
        bracketed += view[1] == _BRACKET
        texts.append(view)
    if bracketed:
        return (b",".join(texts),) if bracketed == len(texts) and all(map(_NUMBERED.match, texts)) else None
    if len(texts) > len(_PREFIXES):
        return None
    pieces: list[bytes | memoryview] = []
    for prefix, view in zip(_PREFIXES, texts, strict=False):
        pieces.append(prefix)
        pieces.append(view[1:])
    return pieces


def _ends_in_doubt(raw: bytes | memoryview) -> bool:
    """Whether the last character of a JSON string could be white space, as it is or escaped."""
    return len(raw) < 9 or raw[-2] not in PLAIN_EDGE or _BACKSLASH in (raw[-3], raw[-7])
