"""Cases over HTTP: written, changed together, exported as a file; their references and their repeats."""

from pathlib import Path

from evergold.model.case import Answer
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import calling, served
from tests.builders import a_case


def test_a_case_is_written_changed_and_exported(tmp_path: Path) -> None:
    with served(tmp_path) as url, calling(f"{url}/api/v1") as client:
        made = client.post("/cases", json={"dataset": "faq", "input": "How long?", "expected": "Three days."})
        assert made.status_code == 201
        key = {"dataset": "faq", "id": made.json()["id"]}
        changed = client.post("/cases/changes", json={"cases": [key], "add_tags": ["new"]}).json()
        assert changed["undo"][0]["remove_tags"] == ["new"]
        file = client.get("/cases/export", params={"format": "case-jsonl", "tag": "new"})
        assert (file.status_code, "Three days." in file.text) == (200, True)
        assert "attachment" in file.headers["content-disposition"]
        assert client.get("/cases/export", params={"format": "nope"}).status_code == 400
        assert "case-jsonl" in client.get("/cases/formats").json()


def test_a_case_says_where_its_reference_comes_from(tmp_path: Path) -> None:
    cases = [
        a_case("stated", dataset="faq", expected="Lima."),
        a_case("approved", dataset="faq", expected="Cusco.", approved=Answer(text="Lima.")),
        a_case("corrected", dataset="faq", entry_type="correction", output="Cusco.", revised=Answer(text="Lima.")),
        a_case("recorded", dataset="faq", entry_type="golden", output="Lima.", metadata={"confirmed": True}),
        a_case("candidate", dataset="faq", entry_type="golden", output="Lima.", metadata={"confirmed": False}),
        a_case("failed", dataset="faq", entry_type="failure", output="Cusco."),
    ]
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        workspace.cases.put(cases)
    with served(tmp_path) as url, calling(f"{url}/api/v1") as client:
        shown = {case.id: client.get(f"/cases/faq/{case.id}").json()["reference_answer"] for case in cases}
    assert shown.pop("failed") is None
    assert {one["text"] for one in shown.values()} == {"Lima."}
    assert {name: one["origin"] for name, one in shown.items()} == {
        "stated": "source",
        "approved": "person",
        "corrected": "revised",
        "recorded": "confirmed",
        "candidate": "candidate",
    }


def test_repeats_of_a_question_are_counted_and_named(tmp_path: Path) -> None:
    asked = {"a": "Capital of Peru?", "b": "capital of peru", "c": "Capital of Peru", "d": "Capital of Chile?"}
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        workspace.cases.put(a_case(name, dataset="faq", input=text) for name, text in asked.items())
    with served(tmp_path) as url, calling(f"{url}/api/v1") as client:
        shown = client.get("/datasets/faq/repeats", params={"case": ["a", "d"]}).json()
        assert shown["counts"] == {"cases": 4, "looked_at": 4, "questions": 1, "repeating": 3}
        assert shown["of"] == {"a": {"cases": 3, "examples": ["a", "b", "c"]}}
        assert client.get("/stats", params={"dataset": "faq"}).json()["repeats"] == shown["counts"]
        client.post("/cases", json={"dataset": "faq", "input": "Capital of Chile", "expected": "Santiago"})
        assert client.get("/datasets/faq/repeats").json()["counts"]["questions"] == 2
        assert client.get("/datasets/fqa/repeats").status_code == 404
