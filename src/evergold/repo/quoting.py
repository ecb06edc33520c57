"""Git's spelling of a path, both ways.

Git writes a path with control characters, quotes, backslashes or bytes above 127 as a C string in double quotes
(`"caf\\303\\251.txt"`). JSON cannot hold a path that is not UTF-8, so such a path keeps git's quoted spelling in our
files: it stays unambiguous, and `path_bytes` gives the bytes back.
"""

import re

_ESCAPES = {
    b"a": b"\a",
    b"b": b"\b",
    b"t": b"\t",
    b"n": b"\n",
    b"v": b"\v",
    b"f": b"\f",
    b"r": b"\r",
    b'"': b'"',
    b"\\": b"\\",
}
_LETTERS = {value[0]: key for key, value in _ESCAPES.items()}
# The first octal digit is at most 3: three octal digits go to 511, a byte to 255.
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|[abtnvfr\"\\])")
_QUOTED = re.compile(rb'"(?:[^"\\]|\\.)*"')


def unquote(spelling: bytes) -> bytes:
    """The raw bytes of a path as git wrote it, quoted or plain."""
    if not is_quoted(spelling):
        return spelling
    return _ESCAPE.sub(_unescape, spelling[1:-1])


def is_quoted(spelling: bytes) -> bool:
    return spelling.startswith(b'"') and _QUOTED.fullmatch(spelling) is not None


def quoted_prefix(text: bytes) -> bytes | None:
    """The quoted path `text` begins with, quotes included; None where it begins otherwise."""
    match = _QUOTED.match(text) if text.startswith(b'"') else None
    return match[0] if match else None


def path_text(raw: bytes) -> str:
    """The path as our files carry it: UTF-8 text, or git's quoted spelling where the bytes are not UTF-8.

    A path that is UTF-8 and itself looks quoted is quoted once more, so that `path_bytes` never guesses.
    """
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return _quote(raw)
    return _quote(raw) if is_quoted(raw) else text


def path_bytes(text: str) -> bytes:
    """The raw bytes of a path of our files."""
    # A path read from JSON may hold half surrogates: it must not raise here, and it matches no file.
    return unquote(text.encode("utf-8", "surrogatepass"))


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return _ESCAPES[code] if code in _ESCAPES else bytes([int(code, 8)])


def _quote(raw: bytes) -> str:
    return '"' + "".join(_quoted_byte(byte) for byte in raw) + '"'


def _quoted_byte(byte: int) -> str:
    letter = _LETTERS.get(byte)
    if letter is not None:
        return "\\" + letter.decode()
    return chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}"
