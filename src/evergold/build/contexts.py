"""Contexts: trimmed, numbered, each still in its place beside its source.

Works on the JSON text of each string, not on its value: a context that needs no trimming keeps its very bytes (escapes
included), and a number is put right behind the opening quotation mark. Only a string whose edges could be white space is decoded.
"""

import re
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter

import msgspec
from msgspec import Raw

_PRINTED = bytes(byte for byte in range(0x21, 0x7F) if byte not in b'"\\')
PLAIN_START = _PRINTED + bytes((*range(0xC3, 0xE1), *range(0xE4, 0xF5)))
"""First bytes of characters that are no white space, nor the beginning of an escape."""
_PLAIN_END = _PRINTED + bytes((*range(0x8B, 0x9F), *range(0xA1, 0xA8), *range(0xAA, 0xAF), *range(0xB0, 0xC0)))
"""Last bytes of such characters."""
_NUMBERED = re.compile(rb'"\[(\d+)\]')
_ODD_START, _ODD_END = (re.compile(b"[^%b]" % re.escape(plain)) for plain in (PLAIN_START, _PLAIN_END))
_NO_QUOTE, _ESCAPE = re.compile(b'[^"]'), re.compile(rb"\\")
_BACKSLASH, _BRACKET, _QUOTE = b'\\["'
_HEAD, _TAIL = 5, 7
"""How much of a context's JSON text is looked at: a label like `"[12]`, and a last escape with the closing quotation mark."""
_LABELS = b"".join(b'"[%d] ' % place for place in range(1, 10)) + b"".join(b'"[%d]' % place for place in range(10, 65))
_DOUBTED = b'"\\n    "'
"""Stands in for a context that is too short for that, so that it is looked at closely."""
_TEMPLATES = [b",".join(b'"[%d] %%b' % place for place in range(1, count + 1)) for count in range(33)]
_heads, _tails, _body = itemgetter(slice(_HEAD)), itemgetter(slice(-_TAIL, None)), itemgetter(slice(1, None))
_decode_text = msgspec.json.Decoder(str).decode
_encode = msgspec.json.Encoder().encode


def trimmed(raw: bytes) -> bytes:
    """The JSON string without white space at its ends; the same bytes when there was none."""
    if raw[1] in PLAIN_START and not _ends_in_doubt(raw):
        return raw
    text = _decode_text(raw)
    bare = text.strip()
    return raw if bare == text else _encode(bare)


def is_blank(raw: bytes) -> bool:
    """Whether the JSON string holds nothing but white space."""
    return not (len(raw) > 2 and raw[1] in PLAIN_START) and not _decode_text(raw).strip()


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


def numbered_texts(lists: Sequence[Sequence[Raw]], joined: Sequence[bytes]) -> list[bytes | None]:
    """`renumbered` for many lists at a time; None for one that holds something else than text.

    Only the two ends of a context decide what is to be done with it, so they are cut out of all of them and looked at together.
    """
    flat = list(map(bytes, chain.from_iterable(lists)))
    heads, tails = b"".join(map(_heads, flat)), b"".join(map(_tails, flat))
    if len(tails) != _TAIL * len(flat):
        long_enough = [text if len(text) >= _TAIL else _DOUBTED for text in flat]
        heads, tails = b"".join(map(_heads, long_enough)), b"".join(map(_tails, long_enough))
    doubtful = _doubtful(heads, tails)
    result: list[bytes | None] = []
    start = 0
    for text, contexts in zip(joined, lists, strict=True):
        end = start + len(contexts)
        head = heads[_HEAD * start : _HEAD * end]
        if doubtful and not doubtful.isdisjoint(range(start, end)):
            result.append(_closely(flat[start:end], text))
        elif head == _LABELS[: len(head)]:
            result.append(text)
        elif b'"[' in head or end - start >= len(_TEMPLATES):
            result.append(_closely(flat[start:end], text))
        else:
            result.append(_TEMPLATES[end - start] % tuple(map(_body, flat[start:end])))
        start = end
    return result


def _closely(texts: list[bytes], joined: bytes) -> bytes | None:
    return renumbered(texts, joined) if all(text[0] == _QUOTE for text in texts) else None


def _doubtful(heads: bytes, tails: bytes) -> set[int]:
    """Which contexts are no text, or have an end that could be white space, as it is or escaped."""
    found = {match.start() for match in _ODD_START.finditer(heads[1::_HEAD])}
    found.update(match.start() for match in _ODD_END.finditer(tails[_TAIL - 2 :: _TAIL]))
    found.update(match.start() for match in _NO_QUOTE.finditer(heads[::_HEAD]))
    found.update(match.start() // _TAIL for match in _ESCAPE.finditer(tails))
    return found


def _ends_in_doubt(raw: bytes) -> bool:
    """Whether the last character of a JSON string could be white space, as it is or escaped."""
    return len(raw) < 9 or raw[-2] not in _PLAIN_END or _BACKSLASH in (raw[-3], raw[-7])
