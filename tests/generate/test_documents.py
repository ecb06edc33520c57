"""Reading a folder: every kind of file that people really have in one, and what becomes of each."""

import os
from pathlib import Path

import pytest

from evergold.errors import BadInput, Incomplete, NotFound
from evergold.generate.documents import read_corpus, read_documents
from evergold.generate.passages import clear_sentences
from evergold.generate.spec import GenerationLimits, GenerationSpec
from evergold.model.generation import Document, Skipped
from tests.documents import write_locked_pdf, write_pdf


def read(folder: Path, **limits: float) -> tuple[dict[str, Document], dict[str, str]]:
    items = list(read_documents(folder, GenerationLimits.model_validate(limits)))
    documents = {item.name: item for item in items if isinstance(item, Document)}
    return documents, {item.name: item.reason for item in items if isinstance(item, Skipped)}


def test_text_markdown_and_pdf_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.MD").write_text("# Title\r\n\r\nText.\r\n", newline="")
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfWith a mark.")
    (tmp_path / "wide.txt").write_bytes("Sechzehn Bit ä.".encode("utf-16"))
    write_pdf(tmp_path / "c.pdf", [["Page one says (this)."], ["Page two says that."]])
    documents, skipped = read(tmp_path)
    assert skipped == {}
    assert {name: one.text for name, one in documents.items() if one.kind != "pdf"} == {
        "a.txt": "With a mark.",
        "sub/b.MD": "# Title\n\nText.\n",
        "wide.txt": "Sechzehn Bit ä.",
    }
    assert list(documents) == ["a.txt", "c.pdf", "sub/b.MD", "wide.txt"]
    pdf = documents["c.pdf"]
    assert [pdf.text[start:].split("\n")[0] for start in pdf.pages] == ["Page one says (this).", "Page two says that."]


def test_a_form_feed_turns_the_page_of_a_text(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ftwo\fthree")
    documents, _ = read(tmp_path)
    assert documents["a.txt"].pages == (0, 4, 8)


def test_what_cannot_be_used_is_named_with_its_reason(tmp_path: Path) -> None:
    (tmp_path / "good.txt").write_text("Something to read.")
    (tmp_path / "same.txt").write_text("Something to read.")
    (tmp_path / "empty.md").write_bytes(b"")
    (tmp_path / "blank.md").write_text(" \n\t\n")
    (tmp_path / "zeros.txt").write_bytes(b"ab\0cd")
    (tmp_path / "latin.txt").write_bytes("café".encode("latin-1"))
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing here")
    (tmp_path / "scan.pdf").write_bytes(write_pdf(tmp_path / "scan.pdf", [[""]]).read_bytes())
    write_locked_pdf(tmp_path / "locked.pdf", "secret")
    (tmp_path / ".hidden.txt").write_text("hidden")
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "self.txt").symlink_to(tmp_path / "self.txt")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nowhere.txt")
    os.mkfifo(tmp_path / "pipe.txt")
    documents, skipped = read(tmp_path)
    assert list(documents) == ["good.txt"]
    assert skipped == {
        ".hidden.txt": "hidden",
        "blank.md": "empty",
        "broken.pdf": "broken PDF",
        "empty.md": "empty",
        "gone.txt": "unreadable",
        "latin.txt": "not UTF-8",
        "locked.pdf": "encrypted",
        "loop": "link to a folder",
        "picture.png": "unsupported type",
        "pipe.txt": "not a file",
        "same.txt": "duplicate",
        "scan.pdf": "no text",
        "self.txt": "unreadable",
        "zeros.txt": "binary",
    }


def test_limits_leave_out_and_say_so(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.txt").write_text(name * 600)
    (tmp_path / "large.txt").write_text("x" * 2000)
    write_pdf(tmp_path / "long.pdf", [["One."], ["Two."], ["Three."]])
    _, skipped = read(tmp_path, file_mb=0.0018, pages=2)
    assert skipped == {"large.txt": "too large", "long.pdf": "too many pages"}
    documents, skipped = read(tmp_path, files=2)
    assert (list(documents), set(skipped.values())) == (["a.txt", "b.txt"], {"over the limit of files"})
    documents, skipped = read(tmp_path, total_mb=0.0013, file_mb=0.0018, pages=1)
    assert list(documents) == ["a.txt", "b.txt"]
    assert skipped["c.txt"] == "over the limit of all documents"


def test_titles_headers_and_page_numbers_of_a_pdf_are_no_part_of_sentences(tmp_path: Path) -> None:
    body = "The shop in Lima opens at 9:30 a.m. from Monday to Saturday and closes"
    pages = [
        ["Shop handbook", "Opening hours", body, "at 6 p.m. on all of these days.", "Page 1 of 3"],
        [
            "Shop handbook",
            "Returns",
            "A refund is the price paid for the goods, and it is paid to the card",
            "Page 2 of 3",
        ],
        ["Shop handbook", "that paid for them.", "Page 3 of 3"],
    ]
    write_pdf(tmp_path / "shop.pdf", pages)
    [document] = read_documents(tmp_path, GenerationLimits())
    assert isinstance(document, Document)
    assert clear_sentences(document.text) == [
        f"{body} at 6 p.m. on all of these days.",
        "A refund is the price paid for the goods, and it is paid to the card that paid for them.",
    ]


def test_a_pdf_that_was_cut_at_any_byte_never_stops_the_others(tmp_path: Path) -> None:
    whole = write_pdf(tmp_path / "whole.pdf", [["A sentence in a PDF."], ["Another one."]]).read_bytes()
    for size in range(20, len(whole), 37):
        (tmp_path / f"cut-{size:04}.pdf").write_bytes(whole[:size])
    (tmp_path / "z.txt").write_text("The last file.")
    documents, skipped = read(tmp_path)
    assert documents["z.txt"].text == "The last file."
    assert set(skipped.values()) <= {"broken PDF", "no text", "duplicate"}


def test_a_folder_that_is_not_there_or_not_a_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no folder"):
        read(tmp_path / "nowhere")
    (tmp_path / "file.txt").write_text("text")
    with pytest.raises(BadInput, match="is a file"):
        read(tmp_path / "file.txt")


def test_a_folder_without_a_usable_file_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.bin").write_bytes(b"1")
    with pytest.raises(Incomplete) as caught:
        read_corpus(tmp_path, GenerationSpec())
    assert "1 files cannot be used" in caught.value.message
    assert caught.value.problems[0].startswith("a.bin: unsupported type")
