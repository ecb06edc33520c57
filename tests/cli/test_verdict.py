"""A report of checks on a terminal: short, with the samples in a few lines each."""

import pytest

from evergold.build.manifest import Report
from evergold.cli.build import print_report


def test_a_sampled_record_is_a_few_lines_however_long_its_texts(capsys: pytest.CaptureFixture[str]) -> None:
    record = {
        "task_id": "q1",
        "question": "When does it\nopen?",
        "reference_answer": "At nine [1].",
        "contexts": ["[1] " + "word " * 5000, "[2] short", "[3] c", "[4] d"],
        "citations": [],
        "metadata": {"source_path": "hours.md"},
    }
    print_report(Report("manifest.json", "v1", [], samples={"qa": [record]}))
    shown = capsys.readouterr().out
    assert "qa: q1" in shown
    assert "When does it open?" in shown
    assert "contexts 1/4" in shown
    assert "characters)" in shown
    assert len(shown) < 2000
