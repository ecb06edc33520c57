"""Cases over HTTP: written, changed together, exported as a file."""

from pathlib import Path

from tests.api.serving import calling, served


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
