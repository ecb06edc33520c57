"""A policy against people: labels in a file, and the reviews made so far."""

import json
from pathlib import Path

import pytest

from evergold.cli import invoke as run
from evergold.errors import BadInput, NotFound
from evergold.model.case import Case
from evergold.model.review import CaseKey, Decision, ReviewVerdict
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter, iterate_cases
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace

GOOD, MIDDLING, BAD = (a_score("check", 1.0),), (a_score("check", 0.75),), (a_score("check", 0.0),)


def labels(folder: Path, **said: str | None) -> Path:
    path = folder / "labelled.jsonl"
    path.write_text("".join(json.dumps({"trace_id": name, "label": label}) + "\n" for name, label in said.items()))
    return path


def test_precision_and_recall_with_intervals(settings: Settings, tmp_path: Path) -> None:
    file = labels(tmp_path, g1="golden", g2="failure", m="golden", b="failure", b2="none", gone="golden")
    other = tmp_path / "lower.toml"
    other.write_text('name = "lower"\n[thresholds]\ngolden_from = 0.7\n')
    with Workspace.open(settings) as ws:
        ws.intake.accept([a_trace(name, scores=GOOD) for name in ("g1", "g2")])
        ws.intake.accept([a_trace("m", scores=MIDDLING), a_trace("b", scores=BAD), a_trace("b2", scores=BAD)])
        (trial,) = ws.live.try_policies(file)
        assert (trial.golden.precision.hits, trial.golden.precision.of) == (1, 2)
        assert (trial.golden.recall.hits, trial.golden.recall.of) == (1, 2)
        assert (trial.failure.precision.hits, trial.failure.precision.of) == (1, 2)
        assert trial.labelled == 5 and trial.missing == 1 and trial.missing_examples == ("gone",)
        assert trial.golden.recall.low == pytest.approx(0.0945, abs=1e-3)
        assert [each.trace_id for each in trial.differences] == ["b2", "g2", "m"]
        (lower,) = ws.live.try_policies(file, [other])
        assert lower.golden.recall.value == 1.0
        assert ws.live.stats().total == 0 and ws.live.stats().waiting == 5  # nothing was written


def test_checks_that_are_missing_count_as_curation_would(tmp_path: Path) -> None:
    file = labels(tmp_path, good="golden", broken="failure")
    with Workspace.open(Settings(home=tmp_path, checks_builtin="true")) as ws:
        ws.intake.accept([a_trace("good"), a_trace("broken", output="Error: 500")])
        (trial,) = ws.live.try_policies(file)
        assert trial.agreement.value == 1.0
        assert ws.intake.get("good").scores == ()


def test_whole_traces_with_labels_need_no_store(tmp_path: Path) -> None:
    file = tmp_path / "labelled.jsonl"
    lines = [
        {"id": "a", "input": "Capital of Peru?", "output": "Lima.", "label": "golden"},
        {"id": "b", "input": "Capital of Peru?", "output": "Error: 500", "label": "failure"},
    ]
    file.write_text("\n".join(map(json.dumps, lines)))
    with Workspace.open(Settings(home=tmp_path / "home", checks_builtin="true")) as ws:
        (trial,) = ws.live.try_policies(file)
        assert trial.agreement.value == 1.0 and trial.labelled == 2 and ws.live.trace_count() == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no labels"),
        ("{", ":1: not JSON"),
        ("[]", "an object"),
        ('{"trace_id": "t"}', "label = None"),
        ('{"trace_id": "t", "label": "great"}', "golden, failure or none"),
        ('{"label": "golden"}', "trace_id"),
        ('{"trace_id": "t", "label": "golden"}\n{"trace_id": "t", "label": "none"}', ":2: trace 't' has two different"),
    ],
)
def test_a_wrong_file_of_labels_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "labelled.jsonl"
    file.write_text(text)
    with Workspace.open(Settings(home=tmp_path)) as ws, pytest.raises(BadInput) as problem:
        ws.live.try_policies(file)
    assert words in problem.value.message


def test_the_command_line_prints_a_trial(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = labels(tmp_path, g1="golden", g2="failure")
    home = ["--home", str(tmp_path / "home")]
    with Workspace.open(Settings(home=tmp_path / "home")) as ws:
        ws.intake.accept([a_trace("g1", scores=GOOD), a_trace("g2", scores=GOOD)])
    assert run([*home, "curate", "--against", str(file)]) == 0
    assert "g2: people say failure, the policy golden" in capsys.readouterr().out
    assert run([*home, "curate", "--against", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["trials"][0]["golden"]["precision"]["value"] == 0.5
    assert run([*home, "curate", "--against", str(tmp_path / "no.jsonl")]) == NotFound.exit_code


def decide(ws: Workspace, case: Case, verdict: ReviewVerdict, **changes: object) -> None:
    decision = Decision(version=case.version, verdict=verdict, changes=changes)
    ws.review.decide(CaseKey(dataset=case.dataset, id=case.id), decision, "ana")


def test_reviews_say_how_often_a_rule_was_right(settings: Settings) -> None:
    with Workspace.open(settings) as ws:
        ws.intake.accept([a_trace(f"g{number}", scores=GOOD) for number in range(3)])
        ws.intake.accept([a_trace("b", scores=BAD), a_trace("open", scores=BAD)])
        ws.live.curate()
        with ws.store.db.read() as connection:
            cases = {case.provenance.trace_id: case for case in iterate_cases(connection, CaseFilter())}
        decide(ws, cases["g0"], ReviewVerdict.APPROVE)
        decide(ws, cases["g1"], ReviewVerdict.DISMISS)
        decide(ws, cases["g2"], ReviewVerdict.APPROVE, entry_type="failure")
        decide(ws, cases["b"], ReviewVerdict.APPROVE, entry_type="golden")
        found = ws.live.agreement()
    assert (found.reviewed, found.disagreed) == (4, 3)
    assert (found.golden.hits, found.golden.of, found.failure.hits, found.failure.of) == (1, 3, 0, 1)
    rule = found.rules[0]
    assert rule.name.startswith("every system score") and rule.verdict == "golden" and rule.agreed.of == 3
    assert [(each.name, each.verdict, each.agreed.of) for each in found.checks] == [
        ("check", "golden", 3),
        ("check", "failure", 1),
    ]
