"""Passages: nothing is lost, nothing is invented, and every place is true."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from evergold.generate.passages import passages
from evergold.generate.spec import Chunks
from evergold.model.generation import Document

LINES = st.sampled_from(
    [
        "# A heading",
        "## Another one ##",
        "Title\n=====",
        "```",
        "- an item of a list",
        "A sentence. And a second one! Is there a third? Yes.",
        "word " * 60,
        "x" * 700,
        "句子在这里。另一个句子！",
        "1.2 Results of the trial",
        "ALL CAPITALS",
        "",
        "  ",
        "\f",
    ]
)
TEXTS = st.one_of(st.lists(LINES, max_size=25).map("\n".join), st.text(max_size=800))
SIZES = st.builds(
    lambda size, share: Chunks(size=size, overlap=size * share // 100), st.integers(100, 900), st.integers(0, 50)
)


@given(TEXTS, SIZES, st.sampled_from(["text", "markdown", "pdf"]))
def test_passages_cover_the_document_and_their_places_are_true(text: str, sizes: Chunks, kind: str) -> None:
    document = Document(name="d", text=text, kind=kind)
    made = passages(document, sizes)
    covered = [False] * len(text)
    for place, passage in enumerate(made):
        assert passage.index == place
        assert passage.text == text[passage.start : passage.end]
        assert passage.text == passage.text.strip()
        assert 0 < len(passage.text) <= sizes.size
        covered[passage.start : passage.end] = [True] * (passage.end - passage.start)
    assert [sign for sign, there in zip(text, covered, strict=True) if not there and not sign.isspace()] == []
    assert [passage.end for passage in made] == sorted({passage.end for passage in made})
    assert made == passages(document, sizes)


def test_a_section_begins_a_passage_and_names_it() -> None:
    text = "# Returns\n\n" + "Unused gear can go back. " * 10 + "\n\n## Boots\n\n" + "Worn boots cannot. " * 10
    made = passages(Document(name="d.md", text=text, kind="markdown"), Chunks(size=400, overlap=50))
    assert [(passage.heading, passage.text.split("\n")[0]) for passage in made] == [
        ("Returns", "# Returns"),
        ("Boots", "## Boots"),
    ]


def test_a_long_section_is_cut_after_sentences_and_overlaps() -> None:
    text = " ".join(f"Sentence number {number} says a little." for number in range(60))
    made = passages(Document(name="d.txt", text=text), Chunks(size=300, overlap=80))
    assert len(made) > 5
    for before, after in itertools.pairwise(made):
        assert before.text.endswith("little.")
        assert after.text.startswith("Sentence number")
        assert after.start < before.end


def test_without_overlap_nothing_is_said_twice() -> None:
    text = " ".join(f"Sentence number {number} says a little." for number in range(60))
    made = passages(Document(name="d.txt", text=text), Chunks(size=300, overlap=0))
    assert " ".join(passage.text for passage in made) == text


def test_a_fenced_block_stays_with_its_blank_lines() -> None:
    text = "Before.\n\n```\nfirst\n\n# no heading\n```\n\nAfter."
    made = passages(Document(name="d.md", text=text, kind="markdown"), Chunks(size=200, overlap=0))
    assert [passage.heading for passage in made] == [""]


def test_a_passage_knows_its_page() -> None:
    text = "First page.\fSecond page.\fThird page, and more of it."
    document = Document(name="d.txt", text=text, pages=(0, 12, 25))
    made = passages(document, Chunks(size=100, overlap=0))
    assert [(passage.page, passage.source) for passage in made] == [(1, f"d.txt#page=1&char=0,{len(text)}")]
