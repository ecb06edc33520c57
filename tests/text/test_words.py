"""Where sentences end: with and without capital letters, in other scripts, after abbreviations."""

from hypothesis import given
from hypothesis import strategies as st

from evergold.text import words
from evergold.text.words import sentences, stem
from tests.rows import each_row


@each_row(
    ("text", "parts"),
    [
        ("The cat sat. The dog ran to Dr. Smith.", ("The cat sat.", "The dog ran to Dr. Smith.")),
        ("the cat sat. the dog ran to dr. smith.", ("the cat sat.", "the dog ran to dr. smith.")),
        ("nasa said so. he left , she said . it ended .", ("nasa said so.", "he left , she said .", "it ended .")),
        ("NASA said so. it was late. we left.", ("NASA said so.", "it was late.", "we left.")),
        ("He came . then he left .", ("He came .", "then he left .")),
        ("it cost 3.5 million on jan. 5 in washington d.c. today.", None),
        ("Use a list, e.g. this one, or i.e. that one.", None),
        ("Version 1.2 vs. version 1.3", None),
        ("is that no. 5? yes.", ("is that no.", "5?", "yes.")),
        ("यह एक वाक्य है। यह दूसरा है।", ("यह एक वाक्य है।", "यह दूसरा है।")),
        ("هل هذا صحيح؟ نعم.", ("هل هذا صحيح؟", "نعم.")),
        ("彼は来た。彼女は去った。", ("彼は来た。", "彼女は去った。")),
        ("", ()),
        (" . ! ? ", ()),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, parts: tuple[str, ...] | None) -> None:
    assert sentences(text) == ((text,) if parts is None else parts)


@given(st.text(alphabet=st.sampled_from("ab AB.!?\n 。।\"')("), max_size=80))
def test_no_letter_is_lost(text: str) -> None:
    def letters(value: str) -> str:
        return "".join(filter(str.isalpha, value))

    assert letters("".join(sentences(text))) == letters(text)


def test_stems_of_words_of_any_length_are_right_and_long_words_are_not_kept() -> None:
    kept = words._kept_stem.cache_info().currsize
    assert stem("a" * 100_000 + "ations") == "a" * 100_000
    assert words._kept_stem.cache_info().currsize == kept
    assert (stem("cities"), stem("city"), stem("sales"), stem("sale")) == ("cit", "cit", "sal", "sal")
