"""Texts of models and users that try to be more than text in a report: markup, links, pictures, table cells, XML."""

from xml.etree import ElementTree

from evergold.model.run import Attempt, Measurement
from evergold.report.documents import to_junit, to_markdown
from evergold.report.summary import RunReport, summarise
from evergold.storage import file_name
from tests.report.test_run_report import CASES, a_run
from tests.rows import each_row

PICTURES = (
    "![x](http://192.0.2.1/p.png)",
    "[x](javascript:alert(1))",
    "[x][y]\n\n[y]: http://192.0.2.1",
    "<http://a.b>",
)
CELLS = ("a|b", "a\\|b", "a\\\\|b", "a\n|b|", "`a|b`", "a\u2028|b")
BLOCKS = ("# title", "  ## title", "~~~\nx", "---", "> more", "===", "+ item", "```\nx")
NOT_XML = ("]]>", "<!--", "&#0;", "\x00", "\x1b[31m", "\ud800", "\ufffe", '"/><x a="', "<![CDATA[")


def reported(text: str) -> RunReport:
    case = CASES[0].model_copy(update={"input": text})
    low = {metric: Measurement.of(0.1, text) for metric in a_run().spec.metrics}
    return summarise(a_run(), [case], [Attempt(case_id=case.id, trial=0, output=text, measurements=low)])


@each_row("text", PICTURES)
def test_no_text_is_a_link_or_a_picture(text: str) -> None:
    page = to_markdown(reported(text)).replace("\\[", "").replace("\\]", "")
    assert "[" not in page and "]" not in page and "<http" not in page


@each_row("text", CELLS)
def test_no_text_adds_a_cell(text: str) -> None:
    for line in to_markdown(reported(text)).splitlines():
        if line.startswith("### "):
            # Without escaped backslashes, each pipe has one before it.
            bare = line.replace("\\\\", "")
            assert bare.count("|") == bare.count("\\|") > 0


@each_row("text", BLOCKS)
def test_no_line_of_a_text_begins_a_block(text: str) -> None:
    quoted = [line[2:].lstrip() for line in to_markdown(reported(text)).splitlines() if line.startswith("> ")]
    assert not [line for line in quoted if line.startswith(("#", "~", "-", "=", "+", ">", "`"))]


@each_row("text", NOT_XML)
def test_every_text_makes_xml_that_can_be_read(text: str) -> None:
    low = {metric: Measurement.of(0.1, text) for metric in a_run().spec.metrics}
    attempt = Attempt.model_construct(**dict(Attempt(case_id="c", trial=0, measurements=low)) | {"output": text})
    root = ElementTree.fromstring(to_junit(a_run(), [attempt]).encode())
    assert len(root.findall("testsuite/testcase/failure")) == len(low)


@each_row("name", ["../../etc/x", "..", ".", "/abs", "a\\b", "a\x00b", "C:x", "\udcff", "x" * 1000, "CON/.."])
def test_a_file_made_of_a_name_stays_in_its_folder(name: str) -> None:
    made = file_name(name)
    assert made and not set(made) & set("/\\:\x00") and not made.startswith(".") and len(made.encode()) < 255
