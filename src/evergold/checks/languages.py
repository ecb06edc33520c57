"""Detect the language of a text: by its script, and in Latin script by small words; None where it is unclear."""

import unicodedata
from collections import Counter

SMALL_WORDS = {
    "en": (
        "the is are was were of and to for with that this you your it its what how when where which can "
        "do does i my have has not be on at from will there we our an as by or if"
    ),
    "es": (
        "el la los las de del que y en es son un una unos por para con su sus tu mi lo se como cuando "
        "donde cual puedo esta este estas hay mas pero muy al le te me ya tiene"
    ),
    "fr": (
        "le la les des du et est sont une dans pour avec que qui vous votre je mon il elle nous sur pas "
        "au aux ce cette plus ne"
    ),
    "de": (
        "der die das und ist sind ein eine fur mit von zu den dem nicht auf sie ich wir ihr wie was wann "
        "wo kann im am auch bei"
    ),
    "pt": (
        "o os as da do das dos e em um uma para com que nao seu sua voce eu por como mais mas na no ao pelo esta sao"
    ),
    "it": (
        "il lo gli di e che in un una per con non sono del della dei si mi ti come quando dove piu ma anche nel alla"
    ),
}
SCRIPTS = {
    "CYRILLIC": "cyrillic", "CJK": "han", "HIRAGANA": "kana", "KATAKANA": "kana", "HANGUL": "hangul", "ARABIC": "arabic",
    "HEBREW": "hebrew", "GREEK": "greek", "DEVANAGARI": "devanagari", "THAI": "thai",
}  # fmt: skip
LOOKED_AT = 600  # characters: a hundred words name their language
# Hits by small words; fewer are chance in a short text.
ENOUGH = 3

_OF_WORD: dict[str, tuple[str, ...]] = {}
for _language, _words in SMALL_WORDS.items():
    for _word in _words.split():
        _OF_WORD[_word] = (*_OF_WORD.get(_word, ()), _language)
_APART = {code: " " for code in range(128) if not chr(code).isalpha() and chr(code) != "'"}


def language_of(text: str, bare: str) -> str | None:
    """Name the language or the script of a text; `bare` is the same text folded. None when it is not plain."""
    script = _script(text[:LOOKED_AT])
    if script is not None:
        return script
    hits: dict[str, float] = {}
    for word, times in Counter(bare[:LOOKED_AT].translate(_APART).split()).items():
        languages = _OF_WORD.get(word, ())
        for language in languages:
            # A word that several languages share counts a part for each.
            hits[language] = hits.get(language, 0.0) + times / len(languages)
    ranked = sorted(hits.items(), key=lambda item: -item[1])
    if not ranked or ranked[0][1] < ENOUGH:
        return None
    second = ranked[1][1] if len(ranked) > 1 else 0.0
    # Twice the runner-up: close languages (Spanish, Portuguese) share many small words.
    return ranked[0][0] if ranked[0][1] >= 2 * second else None


def _script(text: str) -> str | None:
    if text.isascii():
        return None
    counts: dict[str, int] = {}
    letters = 0
    for sign in text:
        if sign.isalpha():
            letters += 1
            # Latin letters with marks end at U+024F; everything above is named by its script.
            if ord(sign) > 0x24F:
                name = SCRIPTS.get(unicodedata.name(sign, "").split(" ")[0].split("-")[0])
                if name:
                    counts[name] = counts.get(name, 0) + 1
    # Japanese mixes kana with Chinese characters; kana decide.
    if "kana" in counts:
        counts["kana"] += counts.pop("han", 0)
    name, number = max(counts.items(), key=lambda item: item[1], default=("", 0))
    return name if number * 2 > letters else None
