"""Split text into the word pieces of the small model: the uncased WordPiece rules of BERT, in plain Python."""

import unicodedata
from collections.abc import Mapping

UNKNOWN, FIRST, BETWEEN = "[UNK]", "[CLS]", "[SEP]"
LONGEST_WORD = 100


class WordPieces:
    """A vocabulary and the rules that cut text into its pieces."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._unknown = vocabulary[UNKNOWN]
        self.first, self.between = vocabulary[FIRST], vocabulary[BETWEEN]
        self._known: dict[str, list[int]] = {}

    def ids(self, text: str, limit: int) -> list[int]:
        """The ids of a text's pieces, at most `limit` of them; text that cannot matter any more is not looked at."""
        ids: list[int] = []
        # A piece has seldom more than a few letters; forty characters a piece is more than enough.
        for word in _words(text[: limit * 40]):
            ids += self._pieces(word)
            if len(ids) >= limit:
                break
        return ids[:limit]

    def _pieces(self, word: str) -> list[int]:
        if word not in self._known:
            # A bound on memory: texts of strangers may hold any number of different words.
            if len(self._known) > 100_000:
                self._known.clear()
            self._known[word] = self._cut(word)
        return self._known[word]

    def _cut(self, word: str) -> list[int]:
        if len(word) > LONGEST_WORD:
            return [self._unknown]
        pieces: list[int] = []
        start = 0
        while start < len(word):
            for end in range(len(word), start, -1):
                number = self._vocabulary.get(("##" if start else "") + word[start:end])
                if number is not None:
                    break
            else:
                return [self._unknown]
            pieces.append(number)
            start = end
        return pieces


def _words(text: str) -> list[str]:
    """Lower-case words without accents; punctuation and Chinese characters stand alone."""
    kept: list[str] = []
    for char in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(char)
        if char in "\t\n\r" or kind == "Zs":
            kept.append(" ")
        elif kind == "Mn" or kind[0] == "C" or char == "\ufffd":
            continue
        elif _stands_alone(char, kind):
            kept.append(f" {char} ")
        else:
            kept.append(char)
    return "".join(kept).split()


def _stands_alone(char: str, kind: str) -> bool:
    ascii_mark = char.isascii() and not char.isalnum()
    chinese = 0x4E00 <= ord(char) <= 0x9FFF or 0x3400 <= ord(char) <= 0x4DBF or 0xF900 <= ord(char) <= 0xFAFF
    return ascii_mark or kind[0] == "P" or chinese
