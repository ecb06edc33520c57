"""Text taken apart: sentences, words, numbers, names, as the offline judge compares them; the language of a text.

Small on purpose. A word is matched by its stem, because "played" supports "plays"; a number is matched by its value,
because "1,200" supports "1200" and "twelve" supports "12". English rules; another language falls back to whole words. A
language is known by its commonest small words, or by its script; None where none stands out.
"""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

_STRAIGHT = str.maketrans("’‘´`—–“”¿¡…", "''''--\"\"  .")


def fold_text(text: str) -> str:
    """Fold case, accents and quotes; newlines stay, because they end clauses."""
    if not text.isascii():
        text = "".join(sign for sign in unicodedata.normalize("NFD", text) if not unicodedata.combining(sign))
        text = text.translate(_STRAIGHT)
    return text.casefold()


UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
"""Scripts written without spaces (Thai, Japanese, Chinese): each letter is a word of its own."""
WORD = re.compile(
    rf"\d+(?:[.,]\d+)*|[{UNSPACED}]|[^\W\d_{UNSPACED}]+(?:['’][^\W\d_{UNSPACED}]+)*|\d+[^\W_]*", re.UNICODE
)
SENTENCE_END = re.compile(
    r"(?<=[.!?…。！？])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*[A-Z0-9À-ÖØ-Þ#*\-•])|\n+|(?<=[。！？।॥۔؟])|(?<= [.!?])\s+(?=\S)"
)
CASELESS_END = re.compile(r"(?<=[.!?…。！？])[\"'”’)\]]*\s+(?=\S)|\n+|(?<=[。！？।॥۔؟])")
"""Where sentences end in text without capital letters: lower-cased text, and scripts that have none."""
ABBREVIATED = (
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|Sr|Jr|St|Gen|Col|Lt|Sgt|Rep|Sen|Gov|Capt|No|Nos|vs|etc|approx|Inc|Ltd|Co|Corp|Jan|Feb|"
    r"Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec|Fig|Eq|al|cf|e\.g|i\.e|U\.S|U\.K|a\.m|p\.m)|\b[A-Z]|^\d+)\.$"
)
ABBREVIATION = re.compile(ABBREVIATED)
CASELESS_ABBREVIATION = re.compile(ABBREVIATED.replace("|No|Nos", "").replace("|al|", "|"), re.IGNORECASE)
"""In lower-case text `no.` and `al.` are words at the end of a sentence more often than abbreviations."""
SENTENCE_START = re.compile(r"[.!?][\"'”’)\]]*\s+[\"'“‘(\[]*[^\W\d_]")
STARTS_READ = 20
LONGEST_KEPT = 40  # letters of a word whose stem is kept
LIST_MARK = re.compile(r"^\s*(?:[-*•–]|\d{1,2}[.)]|#+)\s+")
FUNCTION_WORDS = """a about above after again all also am an and any are as at be because been before being below between
both but by can could did do does doing down during each few for from further had has have having he her here hers
herself him himself his how i if in into is it its itself just me more most my myself of off on once only or other our
ours ourselves out over own same she should so some such than that the their theirs them themselves then there these
they this those through to too under until up very was we were what when where which while who whom why will with would
you your yours yourself yourselves 's s t d ll m re ve"""
COUNTING_WORDS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty"""
STOPWORDS = frozenset(FUNCTION_WORDS.split())
TENS = {"thirty": 30.0, "forty": 40.0, "fifty": 50.0, "sixty": 60.0, "seventy": 70.0, "eighty": 80.0, "ninety": 90.0}
NUMBER_WORDS = {word: float(value) for value, word in enumerate(COUNTING_WORDS.split())} | TENS
SUFFIXES = (
    "ations",
    "ation",
    "ments",
    "ment",
    "ingly",
    "edly",
    "ings",
    "ing",
    "ies",
    "ied",
    "ers",
    "ed",
    "es",
    "er",
    "ly",
    "s",
)


def stem(word: str) -> str:
    """A word without its commonest endings; never shorter than three letters."""
    # A text may be one word of a megabyte, which must not stay in memory.
    return _kept_stem(word) if len(word) <= LONGEST_KEPT else _stem(word)


def _stem(word: str) -> str:
    word = word.removesuffix("'s").removesuffix("’s")
    # Longest endings first: "ations" must go before "s". At most one ending is removed.
    for suffix in SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= 3:
            word = word[: -len(suffix)]
            break
    # "sale" and "sales", "city" and "cities" meet at the same stem.
    return word[:-1] if len(word) > 3 and word[-1] in "ey" else word


_kept_stem = lru_cache(maxsize=50_000)(_stem)


def number_value(word: str) -> float | None:
    """The value a word stands for, if it is a number: "1,200" → 1200, "seven" → 7, "3rd" → 3."""
    if word in NUMBER_WORDS:
        return NUMBER_WORDS[word]
    digits = re.match(r"\d+(?:[.,]\d+)*", word)
    if digits is None:
        return None
    plain = digits.group().replace(",", "")
    # "1.2.3" matches the digits and is no number.
    try:
        return float(plain)
    except ValueError:
        return None


@dataclass(frozen=True)
class Text:
    """One sentence or passage, taken apart once and looked at many times."""

    raw: str

    @cached_property
    def tokens(self) -> tuple[str, ...]:
        """Words as written, in order."""
        return tuple(WORD.findall(unicodedata.normalize("NFKC", self.raw)))

    @cached_property
    def words(self) -> tuple[str, ...]:
        return tuple(token.casefold().replace("’", "'") for token in self.tokens)

    @cached_property
    def stems(self) -> tuple[str, ...]:
        return tuple(stem(word) for word in self.words)

    @cached_property
    def content(self) -> tuple[str, ...]:
        """Stems of the words that carry meaning; every word where a text has only function words."""
        kept = tuple(stem(word) for word in self.words if word not in STOPWORDS)
        return kept or self.stems

    @cached_property
    def numbers(self) -> frozenset[float]:
        values = (number_value(word) for word in self.words)
        return frozenset(value for value in values if value is not None)

    @cached_property
    def names(self) -> frozenset[str]:
        """Stems of capitalised words that do not open the sentence: mostly names of people, places, things."""
        return frozenset(
            stem(token.casefold())
            for index, token in enumerate(self.tokens)
            # The first word has a capital letter whatever it is.
            if index > 0 and token[0].isupper() and token.casefold() not in STOPWORDS
        )


def ngrams(items: tuple[str, ...], n: int) -> tuple[tuple[str, ...], ...]:
    return tuple(items[i : i + n] for i in range(len(items) - n + 1))


def sentences(text: str) -> tuple[str, ...]:
    """Sentences and list items, in order, without list marks; abbreviations do not end one.

    A sentence begins with a capital letter, unless the text begins none so, or the full stop stands apart (`word .`).
    """
    end, abbreviation = (CASELESS_END, CASELESS_ABBREVIATION) if _caseless(text) else (SENTENCE_END, ABBREVIATION)
    parts: list[str] = []
    for piece in end.split(text):
        # The split came too early: the piece belongs to the sentence that the abbreviation is in.
        if parts and abbreviation.search(parts[-1]):
            parts[-1] = f"{parts[-1]} {piece.strip()}"
        elif piece and piece.strip():
            parts.append(piece.strip())
    bare = (LIST_MARK.sub("", part).strip() for part in parts)
    return tuple(part for part in bare if WORD.search(part))


def _caseless(text: str) -> bool:
    """Whether sentences of a text begin without capital letters: it has none, or at least two begin so and no other."""
    if not any(map(str.isupper, text)):
        return True
    begun = [start.group()[-1] for start in islice(SENTENCE_START.finditer(text), STARTS_READ)]
    return len(begun) >= 2 and all(map(str.islower, begun))


SMALL_WORDS = {
    "en": """a the is are was were of and to for with that this you your it its what how when where which can do does i my
        have has not be on at from will there we our an as by or if they only in""",
    "es": """a el la los las de del que y en es son un una unos por para con su sus tu mi lo se como cuando donde cual
        puedo esta este estas hay mas pero muy al le te me ya tiene no si solo dos""",
    "fr": """le la les des du de et est sont un une dans pour avec que qui vous votre je mon il elle nous sur pas au aux ce
        cette plus ne sont ont aux""",
    "de": """der die das und ist sind ein eine fur mit von zu den dem nicht auf sie ich wir ihr wie was wann wo kann im am
        auch bei in sich werden wird um er es aus nach bis vom zum sondern oder""",
    "pt": """a o os as da do das dos de e em um uma para com que nao seu sua voce eu por como mais mas na no ao pelo esta
        sao se aos""",
    "it": """il lo la gli di e che in un una per con non sono del della dei si mi ti come quando dove piu ma anche nel
        alla alle sul""",
    "nl": "de het een en van is dat die niet met op te voor zijn aan er maar om ook als bij wordt naar je ik we in",
    "ca": "el la els les de i amb que un una per no es dels al pel aquest aquesta son mes o ha en",
    "pl": "i w na z do nie sie jest to ze jak po od o co dla przez ale czy",
    "sv": "och att det som en ar pa av for med den till inte om har ett i de kan",
}
"""The commonest small words of a language, without accents."""
_SETS = {name: frozenset(words.split()) for name, words in SMALL_WORDS.items()}
_SHARED = Counter(word for words in _SETS.values() for word in words)
FEWEST = 3  # hits; fewer are chance in a short text
MOST_HITS = 2  # of one word, or a text about "a" would be in Portuguese
LEAD = 1.5  # how much the language must lead by: Spanish and Portuguese share many small words


def language_of(text: str, most: int = 4000) -> str | None:
    """Name the language of a text by its small words, or its script where that is not Latin; None where it is not plain."""
    # The beginning is enough, and bounds the work on a long text.
    hits = language_hits(text[:most])
    second, first = sorted(hits, key=hits.__getitem__)[-2:]
    return first if hits[first] >= FEWEST and hits[first] >= LEAD * hits[second] else None


def language_hits(text: str) -> dict[str, float]:
    """Count the small words of each language in a text; a word that several languages have counts less for each of them.

    A text in another script counts for that alone.
    """
    hits = dict.fromkeys(_SETS, 0.0)
    if (script := _script_of(text)) is not None:
        return {**hits, script: float(FEWEST)}
    for word, times in Counter(_LATIN_WORD.findall(fold_text(text))).items():
        if shared := _SHARED.get(word):
            for name, known in _SETS.items():
                hits[name] += min(times, MOST_HITS) / shared if word in known else 0
    return hits


_LATIN_WORD = re.compile("(?<!')[a-z]+")
_SCRIPTS = {"CJK": "han", "HIRAGANA": "kana", "KATAKANA": "kana"}


def _script_of(text: str) -> str | None:
    """Name the script that most letters of a text are of; None where that is Latin."""
    if text.isascii():
        return None
    # Latin letters with marks end at U+024F.
    other = [letter for letter in text if letter > "\u024f" and letter.isalpha()]
    if 2 * len(other) <= sum(map(str.isalpha, text)):
        return None
    names = Counter(re.split("[ -]", unicodedata.name(letter, "UNKNOWN"))[0] for letter in other)
    scripts = {_SCRIPTS.get(name, name.lower()) for name in names}
    # Japanese mixes kana with Chinese characters; kana decide.
    return "kana" if "kana" in scripts else _SCRIPTS.get(top := names.most_common(1)[0][0], top.lower())


_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def xml_text(text: str) -> str:
    """XML has no way to write most control characters; each becomes a replacement character."""
    return _NOT_XML.sub("�", text)
