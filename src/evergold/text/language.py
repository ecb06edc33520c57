"""The language of a text, by its commonest small words. Pure: six languages, and None where none stands out."""

from collections import Counter

from evergold.text.words import WORD

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
