"""Words for the text metrics: the same for every metric, in any script."""

import re
import unicodedata

# Inner apostrophes, points and commas stay: `don't`, `3.5` and `1,000` are one word each.
_WORD = re.compile(r"[぀-ヿ㐀-䶿一-鿿]|[^\W_぀-ヿ㐀-䶿一-鿿]+(?:['’.,][^\W_]+)*", re.UNICODE)


def words(text: str) -> list[str]:
    """Case-folded words without punctuation; in Chinese and Japanese, which write no spaces, single characters."""
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def f_score(matched: float, got: float, want: float, beta: float = 1.0) -> float:
    """F-beta of counts; 0 when nothing matched."""
    if not matched:
        return 0.0
    precision, recall = matched / got, matched / want
    return (1 + beta**2) * precision * recall / (beta**2 * precision + recall)
