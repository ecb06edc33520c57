"""E-mail addresses, also those with letters beyond ASCII: `josé@exämple.de`, `用户@例子.公司`.

A text that is JSON may hold such a letter as an escape, `jos\\u00e9@…`: an escape is matched whole or not at all, so what
is left is still JSON. Where words are written without spaces between them, an ASCII address ends where ASCII ends, and any
other is taken with the letters around it.
"""

import re

UNSPACED = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
SPACED = (  # letters, and the marks that belong to them, of all other scripts
    r"\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u037d\u037f-\u060b\u060d-\u061a\u061c-\u061e\u0620-\u06d3"
    r"\u06d5-\u0963\u0966-\u0dff\u0f00-\u0fff\u10a0-\u177f\u1800-\u1fff\u2c00-\u2dff\ua000-\ud7ff\U00010000-\U0001efff"
)
HEX = r"[0-9a-fA-F]"
SLASH = r"\\"
ESCAPE = (  # in JSON, in JSON that is a text of JSON, and once more; a backslash that is meant may stand before it
    rf"(?:(?:(?<!{SLASH})|(?<=(?<!{SLASH}){SLASH}{{2}})){SLASH}"
    rf"|(?:(?<!{SLASH})|(?<=(?<!{SLASH}){SLASH}{{4}})){SLASH}{{2}}"
    rf"|(?:(?<!{SLASH})|(?<=(?<!{SLASH}){SLASH}{{8}})){SLASH}{{4}})u"
    rf"(?:00[c-fC-F]|0[1-9a-fA-F]{HEX}|1{HEX}{{2}}|30[4-9a-fA-F]|3[4-9a-fA-F]{HEX}|[4-9a-cA-C]{HEX}{{2}}|[dD][0-7]{HEX}){HEX}"
)
LETTER = rf"(?:[A-Za-z0-9{SPACED}]|{ESCAPE})"
ANY_LETTER = rf"(?:[A-Za-z0-9{SPACED}{UNSPACED}]|{ESCAPE})"
WORD = rf"(?:[A-Za-z0-9{SPACED}._%+-]|{ESCAPE})"
BEGIN = (
    rf"(?:(?<![A-Za-z0-9_{SLASH}])|(?<={SLASH}[nrtbf])|(?<={SLASH}u{HEX}{{4}})|(?<={SLASH})(?![nrtbfu{SLASH}])"
    rf"|(?<={SLASH}{{2}})(?={SLASH}))"
)
PICTURE = r"(?![1-4]x\.(?:png|jpe?g|gif|webp|svg|avif|ico)\b)"  # logo@2x.png
LABEL = rf"{ANY_LETTER}(?:(?:{ANY_LETTER}|-){{0,61}}{ANY_LETTER})?\."
TOP = rf"(?:[A-Za-z]{{2,24}}(?![A-Za-z0-9_])|xn--[A-Za-z0-9-]{{2,59}}|(?:[{SPACED}{UNSPACED}]|{ESCAPE}){{2,24}})"
ADDRESS = re.compile(
    rf"{BEGIN}(?=[^@\s\"',;<>()]{{1,600}}@)(?!git@[\w.-]+[:/])"  # where a repository is, not who
    rf"(?:{LETTER}(?:{WORD}{{0,62}}(?:[A-Za-z0-9_%+{SPACED}-]|{ESCAPE}))?|{ANY_LETTER}{{0,31}}(?:[{UNSPACED}]|{ESCAPE}))"
    rf"@{PICTURE}(?:{LABEL}){{1,8}}{TOP}"
)
BEFORE, ESCAPED_BEFORE, AFTER = 70, 600, 2000  # the most characters of an address on either side of its @


def is_address_at(text: str, place: int) -> bool:
    """Whether the @ at this place is that of an address."""
    return _address_at(text, place, 0) is not None


def addresses_replaced(text: str, placeholder: str) -> tuple[str, int]:
    """The text with each address replaced, and how many: sought around each @, which is much cheaper than everywhere."""
    pieces: list[str] = []
    done, place = 0, text.find("@")
    while place >= 0:
        if match := _address_at(text, place, done):
            pieces += [text[done : match.start()], placeholder]
            done = match.end()
        place = text.find("@", max(place + 1, done))
    return "".join([*pieces, text[done:]]), len(pieces) // 2


def _address_at(text: str, place: int, done: int) -> re.Match[str] | None:
    before = max(done, place - BEFORE)
    if text.find("\\u", before, place) >= 0:
        before = max(done, place - ESCAPED_BEFORE)
    return ADDRESS.search(text, before, place + AFTER)
