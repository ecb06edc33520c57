"""Citations are enforced by rule: each way to get them wrong has its own words."""

from evergold.generate.maker import citations_of, problems_with
from evergold.model.generation import Passage
from tests.rows import each_row


@each_row(
    ("text", "require", "said"),
    [
        ("It is so [1]. It is also so [2].", "sentence", []),
        ("It is so. [1] It is also so. [2, 3]", "sentence", []),
        ("It is so [1]. It is also so.", "sentence", ["this sentence cites no passage: “It is also so.”"]),
        ("It is so [1]. It is also so.", "answer", []),
        ("It is so.", "answer", ["no passage is cited"]),
        ("It is so.", "none", []),
        ("It is so [4].", "none", ["[4] is not among the 3 passages"]),
        ("It is so [0][9].", "sentence", ["[0], [9] is not among the 3 passages"]),
        ("In short:\n- It is so [1].\n- Yes.", "sentence", []),
        ("[1]", "sentence", ["there is no text"]),
        ("", "none", ["there is no text"]),
    ],
)
def test_what_is_wrong_with_the_citations(text: str, require: str, said: list[str]) -> None:
    assert problems_with(text, 3, require) == said


def test_a_citation_knows_its_place_and_its_source() -> None:
    one, two = (Passage(document="a.md", index=n, start=n, end=n + 1, text="x") for n in range(2))
    text = "So it is [2]. And so [1, 2]."
    found = citations_of(text, [one, two])
    assert [(one["marker"], text[one["start"] : one["end"]], one["source"]) for one in found] == [
        (2, "[2]", "a.md#char=1,2"),
        (1, "[1, 2]", "a.md#char=0,1"),
        (2, "[1, 2]", "a.md#char=1,2"),
    ]
