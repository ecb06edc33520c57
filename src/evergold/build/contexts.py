"""Contexts: trimmed, numbered, each still in its place beside its source.

Works on the JSON text of each string, not on its value: a context that needs no trimming keeps its very bytes (escapes
included), and a number is put right behind the opening quotation mark. Only a string whose edges could be white space is decoded.
"""

import re
from collections.abc import Sequence

import msgspec
from msgspec import Raw

PLAIN_EDGE = frozenset(byte for byte in range(0x21, 0x7F) if byte not in b'"\\')
_NUMBERED = re.compile(rb'"\[(\d+)\]')
_BACKSLASH, _BRACKET, _QUOTE = ord("\\"), ord("["), ord('"')
_PREFIXES = (b'"[1] ', *(b',"[%d] ' % place for place in range(2, 65)))
_decode_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


def trimmed(raw: bytes) -> bytes:
    """The JSON string without white space at its ends; the same bytes when there was none."""
    if len(raw) > 8 and raw[1] in PLAIN_EDGE and raw[-2] in PLAIN_EDGE and _BACKSLASH not in (raw[-3], raw[-7]):
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


def append_numbered(out: list[bytes | memoryview], contexts: Sequence[Raw]) -> bool:
    """Appends the numbered contexts to the pieces of a record; False when one of them needs a closer look.

    The short way for contexts that are all text, none of them empty, and all or none of them numbered.
    """
    texts: list[bytes | memoryview] = []
    bracketed = 0
    for raw in contexts:
        view: bytes | memoryview = memoryview(raw)
        if view[0] != _QUOTE:
            return False
        if (
            len(view) < 9
            or view[1] not in PLAIN_EDGE
            or view[-2] not in PLAIN_EDGE
            or _BACKSLASH in (view[-3], view[-7])
        ):
            view = trimmed(bytes(view))
            if view == b'""':
                return False
        bracketed += view[1] == _BRACKET
        texts.append(view)
    if bracketed:
        if bracketed != len(texts) or not all(map(_NUMBERED.match, texts)):
            return False
        out.append(b",".join(texts))
        return True
    if len(texts) > len(_PREFIXES):
        return False
    for prefix, view in zip(_PREFIXES, texts, strict=False):
        out += (prefix, view[1:])
    return True
