"""The runner against a real HTTP server with the official client: what a bad day at the endpoint does to a run."""

import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from evergold.model.run import Run, RunSpec, RunStatus
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.openai_server import Body, Reply, Script, ScriptedServer, broken, rate_limited, serving


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    tasks = [f'  - {{id: t{i}, name: T{i}, input: "question {i}", expected_output: "answer {i}"}}' for i in range(40)]
    (tmp_path / "forty.yaml").write_text("\n".join(["name: Forty", "tasks:", *tasks]))
    yield tmp_path


def run_against(script: Script, folder: Path, **spec: object) -> tuple[Run, ScriptedServer]:
    with serving(script) as server:
        settings = Settings(home=folder / "home", benchmark_datasets_dir=folder, model_base_url=server.url)
        wanted = RunSpec(dataset="forty", model="openai/m", metrics=("exact_match",), **spec)
        with Workspace.open(settings) as workspace:
            return workspace.bench.work_on(workspace.bench.run_here(wanted).id), server


def echo(body: Body) -> Reply:
    return Reply(str(body["messages"][-1]["content"]).replace("question", "answer"))


def test_rate_limits_slow_the_run_down_and_lose_nothing(folder: Path) -> None:
    seen: Counter[str] = Counter()

    def first_time_busy(body: Body) -> Reply:
        prompt = str(body["messages"][-1]["content"])
        seen[prompt] += 1
        return rate_limited("0.01") if seen[prompt] == 1 and prompt.endswith(("0", "5")) else echo(body)

    run, server = run_against(first_time_busy, folder)
    assert (run.status, run.done, run.failed, run.scored) == (RunStatus.COMPLETED, 40, 0, 40)
    assert len(server.requests) == 48
    assert run.usage.input_tokens == 400, "a refused call costs nothing"


def test_a_server_that_breaks_now_and_then_is_asked_again(folder: Path) -> None:
    calls = Counter[str]()

    def shaky(body: Body) -> Reply:
        prompt = str(body["messages"][-1]["content"])
        calls[prompt] += 1
        faults = [broken(503), Reply(raw=b'{"choi'), Reply(drop_connection=True)]
        return faults[int(prompt.split()[1]) % 3] if calls[prompt] == 1 else echo(body)

    run, _ = run_against(shaky, folder)
    assert (run.status, run.failed) == (RunStatus.COMPLETED, 0)
    assert set(calls.values()) == {2}


def test_a_wrong_key_stops_the_run_at_once(folder: Path) -> None:
    run, server = run_against(broken(401), folder)
    assert run.status is RunStatus.FAILED and "cannot be used (auth)" in (run.error or "")
    assert len(server.requests) <= 20 and run.done == 0


def test_the_same_run_again_is_answered_by_the_cache(folder: Path) -> None:
    with serving(echo) as server:
        settings = Settings(home=folder / "home", benchmark_datasets_dir=folder, model_base_url=server.url)
        spec = RunSpec(dataset="forty", model="openai/m", metrics=("exact_match",))
        with Workspace.open(settings) as workspace:
            first = workspace.bench.work_on(workspace.bench.run_here(spec).id)
            again = workspace.bench.work_on(workspace.bench.run_here(spec).id)
            cached = [attempt.cached for attempt in workspace.bench.attempts(again.id)]
            hits = [workspace.bench.results.count_cached(run.id) for run in (first, again)]
        assert len(server.requests) == 40
    assert (first.done, again.done, again.usage.input_tokens) == (40, 40, 0)
    assert all(cached) and hits == [(0, 0), (40, 0)]


def test_a_model_that_hangs_meets_the_deadline_and_the_run_ends(folder: Path) -> None:
    """The other answers are known from an earlier run, so that only the one that hangs can be late."""
    never = threading.Event()
    replies = {"question 7": iter([broken(400), broken(400), Reply(hold=never), Reply(hold=never)])}

    def hanging(body: Body) -> Reply:
        prompt = str(body["messages"][-1]["content"])
        return next(replies[prompt]) if prompt in replies else echo(body)

    with serving(hanging) as server:
        settings = Settings(
            home=folder / "home", benchmark_datasets_dir=folder, model_base_url=server.url, benchmark_tries=1
        )
        spec = RunSpec(dataset="forty", model="openai/m", metrics=("exact_match",))
        hasty = spec.model_copy(update={"params": {"timeout": 0.5}})
        with Workspace.open(settings) as workspace:
            workspace.bench.work_on(workspace.bench.run_here(spec).id)
            run = workspace.bench.work_on(workspace.bench.run_here(hasty).id)
            known = workspace.bench.results.count_cached(run.id)
            late = [a for a in workspace.bench.attempts(run.id) if a.error]
        never.set()
    assert (run.status, run.failed, run.scored, known) == (RunStatus.COMPLETED, 1, 40, (39, 0))
    assert (late[0].case_id, late[0].error) == ("t7", "no answer within 0.5 s")


def test_trials_are_separate_calls_with_their_own_seeds(folder: Path) -> None:
    run, server = run_against(echo, folder, trials=3, seed=100, limit=2)
    assert run.done == 6
    assert sorted(body["seed"] for body in server.requests) == [100, 100, 101, 101, 102, 102]


def test_a_budget_in_money_needs_a_known_price(folder: Path) -> None:
    run, server = run_against(echo, folder, budget_money=1.0)
    assert run.status is RunStatus.FAILED and "no price is known" in (run.error or "")
    assert server.requests == []


def test_failed_calls_are_sent_again_only_when_asked_for(folder: Path) -> None:
    mended = threading.Event()

    def picky(body: Body) -> Reply:
        odd = str(body["messages"][-1]["content"]).endswith(("1", "3"))
        return Reply(status=400, raw=b'{"error": {"message": "no"}}') if odd and not mended.is_set() else echo(body)

    with serving(picky) as server:
        settings = Settings(home=folder / "home", benchmark_datasets_dir=folder, model_base_url=server.url)
        spec = RunSpec(dataset="forty", model="openai/m", metrics=("exact_match",), cache=False)
        with Workspace.open(settings) as workspace:
            run = workspace.bench.work_on(workspace.bench.run_here(spec).id)
            assert (run.failed, len(server.requests)) == (8, 48), "each error is tried once more"
            assert workspace.bench.results.means(run)[0].value == 0.8
            mended.set()
            workspace.bench.resume(run.id)
            assert workspace.bench.work_on(run.id).failed == 8 and len(server.requests) == 48
            workspace.bench.resume(run.id, retry_errors=True)
            again = workspace.bench.work_on(run.id)
    assert (again.status, again.done, again.failed, again.scored) == (RunStatus.COMPLETED, 40, 0, 40)
    assert len(server.requests) == 56, "only the eight that failed"


def test_a_model_that_says_nothing_html_or_ten_megabytes_ends_the_run_with_each_told_apart(folder: Path) -> None:
    odd = {
        "0": Reply(""),
        "1": Reply(raw=b"<html>busy</html>", content_type="text/html"),
        "2": Reply("x" * 10_000_000),
    }

    def strange(body: Body) -> Reply:
        number = str(body["messages"][-1]["content"]).rpartition(" ")[2]
        return odd.get(number) or echo(body)

    with serving(strange) as server:
        settings = Settings(home=folder / "home", benchmark_datasets_dir=folder, model_base_url=server.url)
        spec = RunSpec(dataset="forty", model="openai/m", metrics=("exact_match",), limit=4)
        with Workspace.open(settings) as workspace:
            run = workspace.bench.work_on(workspace.bench.run_here(spec).id)
            made = {attempt.case_id: attempt for attempt in workspace.bench.attempts(run.id)}
    assert (run.status, run.done, run.failed) == (RunStatus.COMPLETED, 4, 3)
    classes = [(made[name].error_class, made[name].outcome.value) for name in ("t0", "t1", "t2")]
    assert classes == [("no_answer", "failed"), ("malformed", "error"), ("too_large", "failed")]
    assert [made[name].measurements["exact_match"].value for name in ("t0", "t1", "t2")] == [0.0, 0.0, 0.0]
    assert made["t3"].measurements["exact_match"].value == 1.0


def test_a_judge_that_answers_in_prose_leaves_every_case_unscored_and_the_run_completed(folder: Path) -> None:
    def prose(body: Body) -> Reply:
        return Reply("Rather good, I think.") if body["model"] == "judge" else echo(body)

    with serving(prose) as server:
        settings = Settings(home=folder / "home", benchmark_datasets_dir=folder, model_base_url=server.url)
        spec = RunSpec(
            dataset="forty", model="openai/m", metrics=("correctness", "exact_match"), judge="openai/judge", limit=3
        )
        with Workspace.open(settings) as workspace:
            run = workspace.bench.work_on(workspace.bench.run_here(spec).id)
            report = workspace.judging.report(run.id)
    assert (run.status, run.scored) == (RunStatus.COMPLETED, 3)
    correctness, exact = report.metrics
    assert (correctness.mean.value, correctness.unscored, correctness.errors) == (None, 3, 0)
    assert str(correctness.mean) == "– (n=0/3)" and "not one JSON object" in next(iter(correctness.reasons))
    assert exact.mean.value == 1.0
