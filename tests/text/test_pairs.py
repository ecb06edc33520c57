"""The filter misses no pair that measuring all of them would find."""

from hypothesis import given
from hypothesis import strategies as st

from evergold.text.likeness import TextEntry, jaccard, pairs_across

WORDS = st.frozensets(st.sampled_from([f"w{n}" for n in range(14)]), max_size=12)


@given(
    st.lists(st.tuples(st.sampled_from(["train", "dev", "test"]), WORDS), max_size=14), st.sampled_from([0.5, 0.8, 1.0])
)
def test_each_text_that_has_a_partner_in_another_group_is_found(
    given: list[tuple[str, frozenset[str]]], threshold: float
) -> None:
    entries = [TextEntry(str(place), group, words) for place, (group, words) in enumerate(given)]
    expected = {
        entry.name
        for place, entry in enumerate(entries)
        if entry.shingles
        and any(
            other.group != entry.group and other.shingles and jaccard(other.shingles, entry.shingles) >= threshold
            for other in entries[:place]
        )
    }
    pairs = list(pairs_across(entries, threshold))
    assert [pair.second.name for pair in pairs] == sorted(expected, key=int)
    assert all(jaccard(pair.first.shingles, pair.second.shingles) == pair.share >= threshold for pair in pairs)
