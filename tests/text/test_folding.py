"""One spelling for each phrase, and text for XML files."""

from xml.etree.ElementTree import fromstring
from xml.sax.saxutils import escape

from hypothesis import given
from hypothesis import strategies as st

from evergold.text.words import fold_text, xml_text
from tests.rows import each_row


@each_row(
    ("text", "expected"),
    [
        ("Está MAL", "esta mal"),
        ("don’t", "don't"),
        ("“quoted” – here…", '"quoted" - here.'),
        ("¿Qué?", " que?"),
        ("Straße", "strasse"),
        ("line\nline", "line\nline"),
        ("用户", "用户"),
        ("", ""),
    ],
)
def test_case_accents_and_quotes_are_folded(text: str, expected: str) -> None:
    assert fold_text(text) == expected


@given(st.text(alphabet=st.characters(max_codepoint=0x7F)))
def test_ascii_loses_its_case_alone(text: str) -> None:
    assert fold_text(text) == text.lower()


@given(st.text())
def test_folding_twice_changes_nothing_more(text: str) -> None:
    assert fold_text(fold_text(fold_text(text))) == fold_text(fold_text(text))


@given(st.text(st.characters()))
def test_any_text_can_stand_in_an_xml_file(text: str) -> None:
    element = fromstring(f"<a>{escape(xml_text(text))}</a>")
    assert len(element.text or "") == len(text) or "\r" in text


@each_row(("text", "expected"), [("a\x00b", "a�b"), ("a\tb\n", "a\tb\n"), ("\ud800", "�"), ("é😀", "é😀")])
def test_only_what_xml_cannot_write_is_replaced(text: str, expected: str) -> None:
    assert xml_text(text) == expected
