"""Text taken apart: sentences, words, numbers, names, negations, as the offline judge compares them; the language of a text.

Small on purpose. A word is matched by its stem, because "played" supports "plays"; a number is matched by its value,
because "1,200" supports "1200" and "twelve" supports "12". English rules; another language falls back to whole words. A
language is known by its commonest small words: six of them, and None where none stands out.
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
DENYING_WORDS = """no not never none nobody nothing neither nor nowhere without cannot deny denied denies refuse refused
refuses fail failed fails lack lacks lacked unable refute refuted"""
COUNTING_WORDS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty"""
STOPWORDS = frozenset(FUNCTION_WORDS.split())
NEGATIONS = frozenset(DENYING_WORDS.split())
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

    @cached_property
    def is_negated(self) -> bool:
        return any(word in NEGATIONS or word.endswith("n't") for word in self.words)


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
    "en": "the and of to in is that it for was with are this be by not or from which have",
    "es": "el la los las de que y en un una por con para es del se no al lo su como más está",
    "fr": "le la les des et une est dans que pour qui sur avec pas du au ce sont il elle plus",
    "de": "der die das und ist nicht ein eine mit den von zu auf für dem im sich auch werden wird",
    "pt": "o a os as de que e em um uma para com não do da por se no na ao mais são",
    "it": "il lo gli di che e un una per con non del della è sono si nel alla dei da più",
}
_SETS = {name: frozenset(words.split()) for name, words in SMALL_WORDS.items()}
_SHARED = Counter(word for words in _SETS.values() for word in words)
# Fewer hits than FEWEST are chance; a lead of less than a fifth is a tie (Spanish and Portuguese share much).
FEWEST = 3
LEAD = 1.2


def language_of(text: str, most: int = 4000) -> str | None:
    """The language whose small words stand in the text most often; None where there are too few, or two are close.

    A word that several languages have counts less for each of them.
    """
    # The beginning is enough, and bounds the work on a long text.
    words = [word.lower() for word in WORD.findall(text[:most])]
    hits = {name: sum(1 / _SHARED[word] for word in words if word in known) for name, known in _SETS.items()}
    ranked = sorted(hits.items(), key=lambda item: -item[1])
    (first, best), (_, second) = ranked[0], ranked[1]
    return first if best >= FEWEST and best >= LEAD * second else None


_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def xml_text(text: str) -> str:
    """XML has no way to write most control characters; each becomes a replacement character."""
    return _NOT_XML.sub("�", text)
