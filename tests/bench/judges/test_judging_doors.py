"""Judging as a user meets it: the command line, REST and pytest, with a judge behind a real local endpoint."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evergold.bench.metrics import make_metric, measure
from evergold.cli import invoke as evergold
from evergold.judge.offline import OfflineJudge, Support, shipped_calibration
from evergold.model.case import Context
from tests.builders import a_case, an_attempt
from tests.openai_server import Body, Reply, ScriptedServer, broken, json_reply, serving
from tests.patience import PATIENCE

APP = "def answer(prompt): return 'Lima [1].' if 'Peru' in prompt else 'It is Quito.'\n"
FILE = """name: Mixed
tasks:
  - {id: peru, name: P, input: Capital of Peru?, expected_output: Lima is the capital., context: [Lima is the capital of Peru.]}
  - {id: ecuador, name: E, input: Capital of Ecuador?, expected_output: Quito is the capital., context: [Quito is a city.]}
"""
Script = Callable[[Body], Reply]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "judged_app.py").write_text(APP)
    (tmp_path / "mixed.yaml").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("EVERGOLD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("EVERGOLD_BENCHMARK_TRIES", "1")
    monkeypatch.setenv("EVERGOLD_BENCHMARK_DATASETS_DIR", str(tmp_path))
    return tmp_path


def run(
    capsys: pytest.CaptureFixture[str], server: ScriptedServer | None, *words: str, metric: str = "correctness"
) -> tuple[int, str, str]:
    if server is not None:
        os.environ["EVERGOLD_JUDGE_BASE_URL"] = server.url
        words = ("--judge", "openai/j", *words)
    capsys.readouterr()
    command = ["run", "mixed", "--model", "python:judged_app:answer", *words]
    code = evergold(command + (["--metric", metric] if metric else []))
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def grade(body: Body) -> Reply:
    return json_reply({"reason": "because", "score": 8})


@pytest.fixture(autouse=True)
def no_judge_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVERGOLD_JUDGE_BASE_URL", "")


@pytest.mark.parametrize(("reply", "why"), [(broken(), "said 500"), (Reply("Rather good."), "not one JSON object")])
def test_a_judge_that_never_answers_ends_with_2_and_the_reason(
    folder: Path, capsys: pytest.CaptureFixture[str], reply: Reply, why: str
) -> None:
    with serving(reply) as server:
        code, out, err = run(capsys, server)
        assert code == 2 and "– (n=0/2)" in out
        assert "correctness: nothing could be measured" in err and why in err and "(2 of 2)" in err
        assert run(capsys, server, "--fail-under", "correctness=0.1")[0] == 2


def test_a_judge_that_fails_on_some_cases_cannot_decide_a_minimum(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(lambda body: grade(body) if "Peru" in str(body) else broken()) as server:
        assert run(capsys, server)[0] == 0
        code, _, err = run(capsys, server, "--fail-under", "correctness=0.5")
    assert code == 3 and "50% of the attempts have a value, 95% are needed" in err


def test_in_pytest_a_dead_judge_fails_the_test_with_the_reason(folder: Path) -> None:
    (folder / "test_it.py").write_text(
        "import pytest, judged_app\n"
        "@pytest.mark.evergold(dataset='mixed', metric='correctness', judge='openai/j', model=judged_app.answer)\n"
        "def test_quality(): pass\n"
    )
    with serving(broken()) as server:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "test_it.py"],
            env={**os.environ, "EVERGOLD_JUDGE_BASE_URL": server.url},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    assert done.returncode == 1 and "1 error" in done.stdout
    assert "correctness: nothing could be measured" in done.stdout and "said 500" in done.stdout


def test_keys_that_were_not_asked_for_are_sent_back_once_and_then_refused(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def sure(body: Body) -> Reply:
        if "List the factual claims" in str(body):
            return json_reply({"claims": ["It is Lima."]})
        return json_reply({"verdicts": [{"id": 1, "reason": "r", "verdict": "not_found", "p": 0.95}]})

    with serving(sure) as server:
        code, out, err = run(capsys, server, "--limit", "1", metric="faithfulness")
        asked = len(server.requests)
    assert code == 2 and "0.950" not in out
    assert "has 'p', which was not asked for; allowed: id, reason, verdict" in err
    assert asked == 3, "claims, verdicts, and one repair"


def test_replies_of_the_judge_are_reused_and_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(grade) as server:
        first = run(capsys, server)[1]
        again = run(capsys, server)[1]
        assert len(server.requests) == 2
        anew = run(capsys, server, "--no-cache")[1]
        assert len(server.requests) == 4
        run_id = again.splitlines()[-1].split()[0]
        report = Path("report.md")
        assert evergold(["report", run_id, "--out", str(report)]) == 0
        assert evergold(["runs", "rescore", run_id, "--no-cache"]) == 0
        assert len(server.requests) == 6
    assert "tokens of the judge" in first and "judge replies" not in first and "judge replies" not in anew
    assert "2 judge replies from the cache" in again and "tokens of the judge" not in again
    assert "| judge | 0 | 2 |" in report.read_text()


def test_a_judge_of_another_name_or_a_reply_that_failed_is_asked(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(Reply("prose")) as server:
        run(capsys, server)
        run(capsys, server)
        assert len(server.requests) == 8, "two cases, one repair each, in both runs"
    with serving(grade) as server:
        run(capsys, server)
        run(capsys, server, "--judge", "openai/other")
        assert len(server.requests) == 4


def test_a_task_names_its_own_metrics(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = FILE.replace("id: ecuador", "id: ecuador, metrics: [contains]").replace(
        "expected_output: Quito is the capital.", "expected_output: Quito"
    )
    Path("mixed.yaml").write_text(own)
    code, out, _ = run(capsys, None, "--metric", "contains", metric="length:most=50")
    assert code == 0 and "1 not applicable" in next(line for line in out.splitlines() if line.startswith("length"))
    assert "not applicable" not in next(line for line in out.splitlines() if line.startswith("contains"))
    code, out, _ = run(capsys, None, metric="")
    assert code == 0 and out.splitlines()[1].startswith("contains"), "a run without metrics takes those of its tasks"
    Path("mixed.yaml").write_text(own.replace("[contains]", "[contain]"))
    code, _, err = run(capsys, None)
    assert code == 2 and "case 'ecuador' names its metrics: unknown metric 'contain'; did you mean 'contains'?" in err


def test_answers_that_cite_nothing_stand_beside_the_mean(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, None, metric="citation_precision")
    assert "(n=2, 1 cites nothing)" in out and "1.000" in out


def test_contextual_recall_is_the_share_of_the_reference_that_the_contexts_support(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("mixed.yaml").write_text(
        FILE.replace("Lima is the capital.,", '"Lima is the capital of Peru. It has nine moons.",')
    )
    assert (
        evergold(["run", "mixed", "--model", "python:judged_app:answer", "--metric", "contextual_recall", "--json"])
        == 0
    )
    run_id = json.loads(capsys.readouterr().out)["run"]["id"]
    assert evergold(["runs", "show", run_id, "--case", "peru", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)["attempts"][0]["measurements"]["contextual_recall"]
    assert made["value"] == 0.5 and "nine moons" in made["reason"]


def test_a_report_lists_no_answer_as_a_failure_whose_claims_are_all_supported(
    folder: Path,
) -> None:
    """The offline judge calls a claim supported from a threshold of its own: the value follows the verdict."""

    class Barely(OfflineJudge):
        def supports(self, claims: Any, evidence: Any) -> list[Support]:
            border = shipped_calibration().thresholds["supported"]
            return [Support(border, 0.0) for _ in claims]

    case = a_case(contexts=(Context(text="Lima is the capital of Peru."),))
    made = asyncio.run(
        measure(make_metric("faithfulness"), case, an_attempt(output="Lima is big. It rains."), Barely())
    )
    assert made.value == 1.0 and made.reason == "every claim is supported"
