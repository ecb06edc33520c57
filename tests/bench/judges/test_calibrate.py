"""A judge against people, from a file and from review, stored, and known to later reports."""

import asyncio
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evergold.bench.calibrate import calibrate, read_labels
from evergold.bench.metrics import make_metric
from evergold.cli import root
from evergold.errors import BadInput, NotFound
from evergold.judge.offline import OfflineJudge
from evergold.model.case import EntryType
from evergold.model.judge import JudgeAnswer, Question
from evergold.settings import Settings
from evergold.store.case.writes import Author, put_cases
from evergold.workspace import Workspace
from tests.builders import a_case

GRADES = {"good": 9, "fair": 6, "poor": 2}


class ByWord:
    """Grades an answer by its word; silent on others."""

    identity = "by word"

    async def ask(self, question: Question) -> JudgeAnswer:
        grade = GRADES.get(question.inputs["output"])
        return JudgeAnswer(data=None if grade is None else {"reason": "", "score": grade}, reason="cannot tell")


def lines(*pairs: tuple[str, object]) -> list[bytes]:
    return [json.dumps({"output": word, "expected": "x", "label": label}).encode() for word, label in pairs]


def test_agreement_false_passes_and_false_fails_have_intervals() -> None:
    rows = [("good", 1)] * 6 + [("fair", "fail")] * 2 + [("poor", "no")] * 6 + [("poor", 1.0), ("odd", True)]
    labels = read_labels(lines(*rows), "labels.jsonl")
    found = asyncio.run(calibrate(make_metric("correctness"), "correctness", ByWord(), labels, 0.5))
    assert (found.labels, found.unscored) == (16, {"correctness: cannot tell": 1})
    assert found.false_pass is not None and (found.false_pass.value, found.false_pass.n) == (0.25, 8)
    assert found.false_fail is not None and found.false_fail.value == pytest.approx(1 / 7)
    assert found.agreement is not None and found.agreement.value == pytest.approx(12 / 15)
    assert found.kappa is not None and found.kappa.low is not None and 0 < found.kappa.low < found.kappa.value
    assert found.spearman is not None and found.spearman.value > 0.5
    assert found.prompt_hash == make_metric("correctness").prompt_hash()  # type: ignore[union-attr]


def test_labels_that_cannot_be_read_are_all_named() -> None:
    bad = [b"nope", b'{"output": "x", "label": 3}', b'{"label": 1}', b"", *lines(("good", 1))]
    with pytest.raises(BadInput, match=r"3 labels cannot be read; the first: f\.jsonl:1: not JSON") as caught:
        read_labels(bad, "f.jsonl")
    assert caught.value.problems[1].startswith("f.jsonl:2: label")
    with pytest.raises(BadInput, match="has no labels"):
        read_labels([], "f.jsonl")


def test_a_judge_changed_since_its_calibration_is_uncalibrated_again(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.write_bytes(b"\n".join(lines(("x", 1), ("unrelated words", 0))))
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        (tmp_path / "t.yaml").write_text("name: t\ntasks: [{id: a, name: A, input: q, expected_output: x}]")
        from evergold.model.run import RunSpec

        spec = RunSpec(dataset=str(tmp_path / "t.yaml"), model="recorded", metrics=("correctness",))
        run = workspace.bench.run_here(spec)
        assert workspace.judging.states(run) == {"correctness": "never calibrated against human labels"}
        labels = workspace.judging.labels_from_file(path)
        found = workspace.judging.calibrate("offline", "correctness", labels)
        assert found.agreement is not None and found.agreement.value == 1.0
        assert workspace.judging.states(run) == {"correctness": "2 of 30 labels"}
        enough = workspace.judging.labels_from_file(path) * 15
        assert workspace.judging.calibrate("offline", "correctness", enough).usable
        assert workspace.judging.states(run) == {"correctness": "calibrated"}
        reworded = run.model_copy(update={"metrics": (run.metrics[0].model_copy(update={"prompt_hash": "other"}),)})
        assert "its prompts changed since" in workspace.judging.states(reworded)["correctness"]
        other = run.model_copy(update={"metrics": (run.metrics[0].model_copy(update={"judge": "openai/j"}),)})
        assert workspace.judging.states(other)["correctness"] == f"only {OfflineJudge().identity} was calibrated"
        with pytest.raises(BadInput, match="asks no judge"):
            workspace.judging.calibrate("offline", "exact_match", labels)
        with pytest.raises(NotFound, match="no labels at"):
            workspace.judging.labels_from_file(tmp_path / "none.jsonl")


def test_peoples_verdicts_in_review_are_labels(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path / "home")) as workspace:
        cases = [
            a_case("g", dataset="d", expected="Lima").as_validated(),
            a_case("f", dataset="d", entry_type=EntryType.FAILURE).as_validated(),
            a_case("u", dataset="d"),
        ]
        workspace.store.db.write(lambda connection: put_cases(connection, cases, Author(who="t", action="made")))
        labels = workspace.judging.labels_from_review("d")
        assert sorted(label.label for label in labels) == [0.0, 1.0]
        with pytest.raises(BadInput, match="no validated cases"):
            workspace.judging.labels_from_review("empty")


def test_the_command_prints_figures_and_says_what_it_needs(tmp_path: Path) -> None:
    runner = CliRunner()
    shipped = runner.invoke(root, ["judge", "calibrate", "offline", "--json"])
    figures = json.loads(shipped.output)["figures"]["model"]
    assert figures["support, WiCE: balanced accuracy"]["low"] > 0.6
    assert "support, InferES: AUROC" in runner.invoke(root, ["judge", "calibrate", "offline"]).output
    path = tmp_path / "labels.jsonl"
    path.write_bytes(b"\n".join(lines(("x", 1), ("y", 0))))
    made = runner.invoke(
        root, ["--home", str(tmp_path / "h"), "judge", "calibrate", "--judge", "offline", "--labels", str(path)]
    )
    assert "false pass" in made.output
    missing = runner.invoke(root, ["judge", "calibrate", "--judge", "openai/x"])
    assert isinstance(missing.exception, BadInput) and "--labels" in str(missing.exception)
