"""The words of an answer as grading compares them: without case, accents and stopwords, as stems."""

import re

from evergold.judge.code import FENCE, looks_like_code
from evergold.judge.quantities import plain
from evergold.text.words import STOPWORDS, stem

SPANISHWORDS = """el la los las un una unos unas de del al a en con por para que y o u es son fue era ser esta estan
hay se su sus lo le les como mas pero este esta esto eso ese si ha han muy ya tiene"""
ALL_STOPWORDS = STOPWORDS | frozenset(SPANISHWORDS.split())
WORD = re.compile(r"[^\W_]+(?:[.\-'’][^\W_]+)*")


def normal_text(text: str) -> str:
    """A text without fence, spaces, case and closing marks; code keeps its case."""
    fences = FENCE.findall(text)
    text = fences[0] if len(fences) == 1 and FENCE.fullmatch(text.strip()) else text
    text = re.sub(r"\s+", " ", text).strip()
    if looks_like_code(text):
        return text.strip("`")
    return text.casefold().strip(" .!\"'`*¡¿“”")


def stems_of(text: str) -> set[str]:
    """The stems of the words that carry meaning."""
    return {stem(plain(word)) for word in WORD.findall(text) if plain(word) not in ALL_STOPWORDS}


def words_of(text: str) -> set[str]:
    """All words and their stems."""
    result = {plain(word) for word in WORD.findall(text)}
    return result | {stem(word) for word in result}


def likeness(expected: str, output: str) -> float:
    """The share of stems that two texts have in common, from 0 to 1."""
    one, other = stems_of(expected), stems_of(output)
    shared = len(one & other)
    return 2 * shared / (len(one) + len(other)) if shared else 0.0
