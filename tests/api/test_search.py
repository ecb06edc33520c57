"""A search of conversations over REST and by the command line: the answer says where a trace holds the words."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from fastapi.testclient import TestClient

from evergold.api.app import create_app
from evergold.cli import root
from evergold.model.trace import Trace
from evergold.settings import Settings
from evergold.store.trace.filter import TraceFilter
from evergold.workspace import Workspace
from evergold.workspace import intake as intake_module

REPAIR = {
    "id": "repair",
    "name": "support",
    "input": "Where is mine?",
    "output": "It is nearly done.",
    "spans": [{"id": "a", "kind": "tool", "name": "find_repair", "output": "waiting for a médano pole " * 30}],
}
HIT = {"part": "tool_result", "name": "find_repair", "turn": None}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        workspace.intake.accept([Trace.model_validate(REPAIR), Trace(id="other", input="Do you sell tents?")])
    return tmp_path


def test_the_answer_over_rest_carries_the_excerpt(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(Settings(home=home, eval_auto_curate=False))
    with TestClient(app, base_url="http://127.0.0.1") as client:

        def ask(search: str) -> dict[str, object]:
            return dict(client.get("/api/v1/traces", params={"search": search, "preview": 100}).json())

        with monkeypatch.context() as patch:
            patch.setattr(intake_module, "SEARCH_SECONDS", 0)
            late = ask("medano pole")
        assert (late["traces"], late["hits"], late["unindexed"]) == ([], {}, 2)
        found = ask("medano pole")
        hits = found["hits"]
        assert isinstance(hits, dict) and list(hits) == ["repair"] and found["unindexed"] == 0
        assert {key: hits["repair"][key] for key in HIT} == HIT
        assert hits["repair"]["excerpt"][:4] == ["waiting for a ", "médano", " ", "pole"]
        assert ask("")["hits"] == {}


def test_a_word_is_looked_for_also_where_an_id_begins_so(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        workspace.intake.accept([Trace(id="bad04c5e", input="Hello?"), Trace(id="1", input="Is milk bad for cats?")])
        workspace.intake.index()

        def found(search: str) -> list[str]:
            return [trace.id for trace in workspace.intake.page(TraceFilter(search=search), limit=5)[0]]

        assert [found(search) for search in ("bad", "bad0", "bad04c5e")] == [["1"], ["bad04c5e"], ["bad04c5e"]]


def test_the_command_line_prints_where_words_are_found(home: Path) -> None:
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(root, ["traces", "list", *arguments], env={"EVERGOLD_HOME": str(home)})
        assert result.exit_code == 0, result.output
        return result.output

    found = json.loads(run("--search", "medano", "--json"))
    assert list(found["hits"]) == ["repair"] and found["hits"]["repair"]["excerpt"][1] == "médano"
    printed = run("--search", "tents")
    assert "question" in printed and "Do you sell [tents]?" in printed
    assert "input" in run()
