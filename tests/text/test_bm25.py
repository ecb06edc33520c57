"""BM25: the index and the count agree, and rare words in short documents win."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from evergold.text.likeness import Index, bm25, count_words

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=12)


@given(st.lists(WORDS, max_size=8), WORDS)
def test_an_index_scores_as_counting_does(documents: list[list[str]], wanted: list[str]) -> None:
    counts = {place: Counter(words) for place, words in enumerate(documents)}
    scores = bm25(wanted, count_words(counts), {place: one.total() for place, one in counts.items()})
    index: Index[int] = Index()
    for place, words in enumerate(documents):
        index.add(place, words)
    assert dict(index.find_best(wanted, len(documents))) == scores


def test_a_rare_word_counts_more_and_a_long_document_less() -> None:
    index: Index[str] = Index()
    index.add("short", ["rare", "common"])
    index.add("long", ["rare", *["common"] * 30])
    index.add("other", ["common"])
    assert [name for name, _ in index.find_best(["rare"], 3)] == ["short", "long"]
    assert index.find_best(["rare"], 1)[0][0] == "short"
    assert index.find_best(["unknown"], 3) == []
