"""/benchmarks over HTTP: the seed's request, progress, results, and every refusal without a run left behind."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from evergold.api.app import create_app
from evergold.settings import Settings
from tests.openai_server import Body, Reply, Script, broken, serving

ANSWER = Reply("42")
DOCUMENTED = {"dataset": "basic-coding", "model": "openai/gpt-4o", "metrics": ["correctness"]}
SEED_REQUEST = {**DOCUMENTED, "metrics": ["exact_match"]}
Serve = Callable[..., AbstractContextManager[TestClient]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    @contextmanager
    def started(script: Script = ANSWER, **changed: Any) -> Iterator[TestClient]:
        with serving(script) as model:
            chosen = {"home": tmp_path / "home", "model_base_url": model.url, "benchmark_tries": 1, **changed}
            with TestClient(create_app(Settings(**chosen)), base_url="http://localhost") as client:
                client.model = model  # type: ignore[attr-defined]
                yield client

    return started


def ended(client: TestClient, run_id: str) -> dict[str, Any]:
    """Follow the events of a run to its end."""
    body = client.get(f"/api/v1/benchmarks/runs/{run_id}/events").text
    name, data = [part for part in body.strip().split("\n\n") if part.startswith("event:")][-1].split("\n")
    assert name == "event: end"
    run: dict[str, Any] = json.loads(data.removeprefix("data: "))
    return run


def test_the_documented_request_is_answered_and_judged_without_a_key(serve: Serve) -> None:
    with serve(Reply("def reverse(s):\n    return s[::-1]\n")) as client:
        posted = client.post("/api/v1/benchmarks/runs", json=DOCUMENTED)
        assert posted.status_code == 201
        assert posted.headers["location"] == f"/api/v1/benchmarks/runs/{posted.json()['id']}"
        run = ended(client, posted.json()["id"])
        assert (run["status"], run["scored"]) == ("completed", 8)
        assert run["provenance"]["judge"].startswith("offline")
        one = client.get(f"/api/v1/benchmarks/runs/{run['id']}/cases/reverse-string").json()
        assert one["attempts"][0]["measurements"]["correctness"]["value"] > 0.9


def test_a_run_ends_with_results(serve: Serve) -> None:
    with serve() as client:
        posted = client.post("/api/v1/benchmarks/runs", json={**SEED_REQUEST, "dataset": "reasoning"})
        assert posted.status_code == 201, posted.text
        run = ended(client, posted.json()["id"])
        assert (run["status"], run["total"], run["done"], run["scored"]) == ("completed", 8, 8, 8)
        assert run["provenance"]["dataset"]["content_hash"].startswith("sha256:")
        results = client.get(f"/api/v1/benchmarks/runs/{run['id']}/results").json()
        assert results["means"][0]["metric"] == "exact_match"
        assert results["means"][0]["value"] == pytest.approx(1 / 8)
        assert client.get("/api/v1/benchmarks/means", params={"run": run["id"]}).json() == {run["id"]: results["means"]}
        assert set(results["asked"]) == {attempt["case_id"] for attempt in results["attempts"]}
        one = client.get(f"/api/v1/benchmarks/runs/{run['id']}/cases/sequence").json()
        assert one["case"]["expected"] == "42"
        assert one["attempts"][0]["measurements"]["exact_match"]["value"] == 1.0


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"dataset": "nothing-here"}, "valid: basic-coding, extraction"),
    ({"dataset": "../../etc/passwd"}, "unknown dataset '../../etc/passwd'"),
    ({"dataset": "/etc/passwd"}, "unknown dataset"),
    ({"metrics": ["niceness"]}, "unknown metric 'niceness'"),
    ({"metrics": []}, "no metrics given; choose some of: answer_relevancy"),
    ({"model": "gpt-4o"}, "write openai/gpt-4o"),
    ({"model": "openai/"}, "does not say which"),
    ({"dataset": "live@v9"}, "no build 'v9' of dataset 'live'"),
    ({"metrics": ["length:most=x"]}, "metric length: most='x'"),
    ({"params": {"timeout": "soon"}}, "the parameter timeout is seconds above 0, not 'soon'"),
    ({"judge": "panel/nobody", "metrics": ["correctness"]}, "a panel needs two judges"),
    ({"model": ""}, "model"),
    ({"judge": "my-aunt"}, "unknown judge"),
    ({"trials": 0}, "trials"),
    ({"modle": "x"}, "modle"),
]


def test_what_cannot_be_run_is_400_and_leaves_no_run(serve: Serve) -> None:
    with serve() as client:
        for change, says in REFUSED:
            refused = client.post("/api/v1/benchmarks/runs", json={**SEED_REQUEST, **change})
            assert refused.status_code == 400, change
            assert says in refused.text
            assert client.get("/api/v1/benchmarks/runs").json() == {"total": 0, "runs": []}, change


def test_a_client_cannot_make_the_server_run_a_program(serve: Serve) -> None:
    with serve() as client:
        for model in ("command:id", "python:os:getcwd", "http://127.0.0.1:1/"):
            refused = client.post("/api/v1/benchmarks/runs", json={**SEED_REQUEST, "model": model})
            assert refused.status_code == 403, model


def test_a_model_without_a_key_fails_the_run_with_what_to_set(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with serve(model_base_url="") as client:
        run = ended(client, client.post("/api/v1/benchmarks/runs", json=SEED_REQUEST).json()["id"])
        assert run["status"] == "failed" and "set OPENAI_API_KEY" in run["error"]


def test_failed_calls_are_errors_and_the_run_still_ends(serve: Serve) -> None:
    with serve(broken(500)) as client:
        run = ended(client, client.post("/api/v1/benchmarks/runs", json=SEED_REQUEST).json()["id"])
        assert (run["status"], run["done"], run["failed"], run["scored"]) == ("failed", 8, 8, 8)
        assert "no attempt succeeded" in run["error"]
        means = client.get(f"/api/v1/benchmarks/runs/{run['id']}/results").json()["means"]
        assert (means[0]["value"], means[0]["n"], means[0]["errors"]) == (0.0, 8, 8)


def test_a_run_is_cancelled_while_its_calls_hang_and_can_go_on(serve: Serve) -> None:
    gate = threading.Event()
    with serve(Reply("42", hold=gate)) as client:
        run_id = client.post("/api/v1/benchmarks/runs", json=SEED_REQUEST).json()["id"]
        client.model.wait_for(1)  # type: ignore[attr-defined]
        assert client.delete(f"/api/v1/benchmarks/runs/{run_id}").status_code == 409
        assert client.post(f"/api/v1/benchmarks/runs/{run_id}/cancel").status_code == 200
        assert ended(client, run_id)["status"] == "cancelled"
        assert client.post(f"/api/v1/benchmarks/runs/{run_id}/cancel").status_code == 409
        gate.set()
        assert client.post(f"/api/v1/benchmarks/runs/{run_id}/resume", json={}).json()["status"] == "queued"
        assert ended(client, run_id)["status"] == "completed"
        assert client.delete(f"/api/v1/benchmarks/runs/{run_id}").status_code == 204
        assert client.get(f"/api/v1/benchmarks/runs/{run_id}").status_code == 404


def test_runs_are_listed_filtered_and_paged(serve: Serve) -> None:
    with serve() as client:
        made = [
            client.post("/api/v1/benchmarks/runs", json={**SEED_REQUEST, "model": f"openai/m{i % 2}"}).json()["id"]
            for i in range(4)
        ]
        for run_id in made:
            ended(client, run_id)
        page = client.get("/api/v1/benchmarks/runs", params={"limit": 3}).json()
        rest = client.get("/api/v1/benchmarks/runs", params={"limit": 3, "offset": 3}).json()
        assert page["total"] == 4 and len(page["runs"]) == 3
        assert sorted(run["id"] for run in page["runs"] + rest["runs"]) == sorted(made)
        only = client.get("/api/v1/benchmarks/runs", params={"model": "openai/m1"}).json()
        assert only["total"] == 2 and {run["spec"]["model"] for run in only["runs"]} == {"openai/m1"}
        assert client.get("/api/v1/benchmarks/runs", params={"status": "failed"}).json()["total"] == 0


def test_two_runs_are_compared_and_ranked(serve: Serve) -> None:
    answers = {"openai/right": "42", "openai/wrong": "no"}
    with serve(lambda body: Reply(answers[f"openai/{body['model']}"])) as client:
        request = {**SEED_REQUEST, "dataset": "reasoning"}
        first, second = (
            ended(client, client.post("/api/v1/benchmarks/runs", json={**request, "model": model}).json()["id"])["id"]
            for model in answers
        )
        compared = client.get("/api/v1/benchmarks/compare", params={"first": first, "second": second}).json()
        assert compared["metrics"][0]["lost"] == ["sequence"]
        assert compared["metrics"][0]["test"] == "Tango"
        assert compared["sentence"].startswith("Not decided: 8 cases cannot tell openai/wrong from openai/right")
        board = client.get("/api/v1/benchmarks/leaderboard").json()
        assert [entry["model"] for entry in board[0]["entries"]] == ["openai/right", "openai/wrong"]


def test_the_cases_that_changed_are_listed_worst_first_and_become_cases(serve: Serve, tmp_path: Path) -> None:
    tasks = [{"id": f"t{n}", "name": "T", "input": f"Question {n}?", "expected_output": "42"} for n in range(6)]
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "sums.yaml").write_text(json.dumps({"name": "Sums", "tasks": tasks}))

    def answer(body: Body) -> Reply:
        asked, model = str(body["messages"]), body["model"]
        if model == "new" and "Question 4" in asked:
            return Reply("", status=400)
        wrong = ("Question 1", "Question 2") if model == "new" else ("Question 3",)
        return Reply("no" if any(question in asked for question in wrong) else "42")

    with serve(answer, benchmark_datasets_dir=folder) as client:
        first, second = (
            ended(client, client.post("/api/v1/benchmarks/runs", json=spec).json()["id"])["id"]
            for spec in (
                {"dataset": "sums", "model": f"openai/{model}", "metrics": ["exact_match"]} for model in ("old", "new")
            )
        )

        def listed(**query: Any) -> dict[str, Any]:
            asked = {"first": first, "second": second, **query}
            answer: dict[str, Any] = client.get("/api/v1/benchmarks/compare/cases", params=asked).json()
            return answer

        whole = listed()
        assert [case["case_id"] for case in whole["cases"]] == ["t4", "t1", "t2", "t3"], "the error first"
        assert whole["counts"] == {"lost": 3, "gained": 1, "changed": 4, "errors": 1, "all": 6}
        error, lost = whole["cases"][:2]
        assert error["second"]["error"] and error["second"]["answer"] == ""
        assert (lost["question"], lost["reference"], lost["difference"]) == ("Question 1?", "42", -1.0)
        assert [lost[side]["answer"] for side in ("first", "second")] == ["42", "no"]
        assert [lost[side]["value"] for side in ("first", "second")] == [1.0, 0.0]
        assert [case["case_id"] for case in listed(show="changed", limit=2, offset=2)["cases"]] == ["t2", "t3"]
        assert [case["case_id"] for case in listed(show="gained")["cases"]] == ["t3"]
        assert [case["case_id"] for case in listed(show="errors")["cases"]] == ["t4"]
        assert "exact_match" in str(listed(metric="bleu"))
        compared = client.get("/api/v1/benchmarks/compare", params={"first": first, "second": second}).json()
        lost_cases = sorted(case["case_id"] for case in listed(show="lost")["cases"])
        assert sorted(compared["metrics"][0]["lost"]) == lost_cases

        wanted = {"dataset": "regressions", "cases": compared["metrics"][0]["lost"]}
        made = client.post(f"/api/v1/benchmarks/runs/{second}/failing-to-review", json=wanted).json()
        assert made == {"dataset": "regressions", "cases": 2}, "an attempt without an answer has nothing to review"
        cases = client.get("/api/v1/cases", params={"dataset": "regressions"}).json()["cases"]
        assert {case["output"] for case in cases} == {"no"}


def test_an_attempt_becomes_a_case_to_review(serve: Serve) -> None:
    with serve(Reply("no idea")) as client:
        run_id = client.post("/api/v1/benchmarks/runs", json=SEED_REQUEST).json()["id"]
        ended(client, run_id)
        sent = {"case_id": "fizzbuzz"}
        made = client.post(f"/api/v1/benchmarks/runs/{run_id}/to-review", json=sent)
        assert made.status_code == 201
        case = made.json()
        assert (case["dataset"], case["entry_type"], case["output"]) == ("failures", "failure", "no idea")
        assert case["metadata"]["model"] == "openai/gpt-4o"
        again = client.post(f"/api/v1/benchmarks/runs/{run_id}/to-review", json=sent).json()
        assert again["version"] == case["version"], "the same attempt twice is one case"
        missing = client.post(f"/api/v1/benchmarks/runs/{run_id}/to-review", json={"case_id": "nothing"})
        assert missing.status_code == 404


def test_datasets_metrics_and_plans(serve: Serve, tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "deep"
    folder.mkdir(parents=True)
    (folder / "broken.yaml").write_text("name: x\ntasks: [{id: 1}]\n")
    (folder / "good.yml").write_text("name: Good\ntasks: [{id: a, name: b, input: c, expected_output: d}]\n")
    with serve(benchmark_datasets_dir=tmp_path / "mine") as client:
        found = {entry["name"]: entry for entry in client.get("/api/v1/benchmarks/datasets").json()}
        assert found["good"]["tasks"] == 1 and found["basic-coding"]["origin"] == "sample"
        assert found["broken"]["problems"][0].startswith("deep/broken.yaml:2: tasks[0].id must be text, not 1")
        assert "exact_match" in {metric["name"] for metric in client.get("/api/v1/metrics").json()}
        plan = client.post("/api/v1/benchmarks/plan", json=SEED_REQUEST).json()
        assert (plan["cases"], plan["calls"]) == (8, 8) and plan["smallest_visible_effect"] > 0.3
        refused = client.post("/api/v1/benchmarks/runs", json={**SEED_REQUEST, "dataset": "broken"})
        assert refused.status_code == 400 and "broken.yaml:2" in refused.text


def test_a_run_goes_on_after_the_server_was_restarted(serve: Serve) -> None:
    gate = threading.Event()
    with serve(Reply("42", hold=gate)) as client:
        run_id = client.post("/api/v1/benchmarks/runs", json=SEED_REQUEST).json()["id"]
        client.model.wait_for(8)  # type: ignore[attr-defined]
    gate.set()
    with serve(Reply("42")) as client:
        run = ended(client, run_id)
        assert (run["status"], run["done"]) == ("completed", 8)


def test_answers_are_scored_again_with_another_metric_and_no_call(serve: Serve) -> None:
    with serve() as client:
        run_id = client.post("/api/v1/benchmarks/runs", json=SEED_REQUEST).json()["id"]
        ended(client, run_id)
        sent = len(client.model.requests)  # type: ignore[attr-defined]
        again = client.post(f"/api/v1/benchmarks/runs/{run_id}/rescore", json={"metrics": ["token_f1"]})
        assert again.status_code == 200, again.text
        run = ended(client, run_id)
        assert [metric["name"] for metric in run["metrics"]] == ["exact_match", "token_f1"]
        attempt = client.get(f"/api/v1/benchmarks/runs/{run_id}/results").json()["attempts"][0]
        assert set(attempt["measurements"]) == {"exact_match", "token_f1"}
        assert len(client.model.requests) == sent  # type: ignore[attr-defined]


def a_judge_beside_the_model(body: Body) -> Reply:
    """Every question to a judge wants JSON; all others are answered."""
    return Reply('{"reason": "as expected", "score": 8}') if "response_format" in body else ANSWER


def test_a_run_records_all_that_its_numbers_rest_on(serve: Serve) -> None:
    with serve(a_judge_beside_the_model) as client:
        asked = {
            "dataset": "reasoning",
            "model": "openai/gpt-4o",
            "metrics": ["correctness", "length:most=50", "correctness"],
            "judge": "openai/gpt-4o-mini",
            "seed": 7,
        }
        run = ended(client, client.post("/api/v1/benchmarks/runs", json=asked).json()["id"])
        dataset = run["provenance"]["dataset"]
        assert dataset["name"] == "reasoning" and dataset["content_hash"].startswith(f"sha256:{dataset['version']}")
        url = client.model.url  # type: ignore[attr-defined]
        assert run["provenance"]["target"] == f"openai/gpt-4o at {url}"
        assert run["provenance"]["judge"] == f"openai/gpt-4o-mini at {url}"
        assert run["provenance"]["seed"] == 7 and run["provenance"]["code"].startswith("evergold ")
        judged, computed = run["metrics"]
        assert run["spec"]["metrics"] == [judged["name"], computed["name"]] == ["correctness", "length:most=50"]
        assert judged["version"] and judged["prompt_hash"].startswith("sha256:") and "gpt-4o-mini" in judged["judge"]
        assert computed["params"]["most"] == 50 and computed["judge"] is None
        assert (run["usage"]["input_tokens"], run["judge_usage"]["input_tokens"]) == (80, 80)
        assert run["usage"]["cost"] is None


def test_who_judges_itself_is_told_apart_from_a_namesake_and_after_scoring_again(serve: Serve) -> None:
    with serve(a_judge_beside_the_model) as client:
        asked = {"dataset": "reasoning", "model": "openai/gpt-4o", "metrics": ["correctness"]}
        posted = client.post("/api/v1/benchmarks/runs", json={**asked, "judge": "openai/gpt-4o-mini"})
        run = ended(client, posted.json()["id"])
        assert run["provenance"]["self_judged"] is False
        client.post(f"/api/v1/benchmarks/runs/{run['id']}/rescore", json={"judge": "openai/gpt-4o"})
        again = ended(client, run["id"])
        assert again["provenance"]["self_judged"] is True
        assert again["provenance"]["judge"].startswith("openai/gpt-4o at ")
        assert again["provenance"]["dataset"] == run["provenance"]["dataset"]
        (board,) = client.get("/api/v1/benchmarks/leaderboard").json()
        assert board["entries"][0]["self_judged"] is True
        panel = {**asked, "judge": "panel/offline,openai/gpt-4o"}
        assert ended(client, client.post("/api/v1/benchmarks/runs", json=panel).json()["id"])["provenance"][
            "self_judged"
        ]


def test_the_judge_has_an_address_and_a_key_of_its_own(serve: Serve) -> None:
    keys = {"model_api_key": "of-the-model", "judge_api_key": "of-the-judge"}
    with serving(Reply('{"reason": "as expected", "score": 8}')) as judge:
        with serve(judge_base_url=judge.url, **keys) as client:
            asked = {**DOCUMENTED, "judge": "openai/strict"}
            run = ended(client, client.post("/api/v1/benchmarks/runs", json=asked).json()["id"])
            model = client.model  # type: ignore[attr-defined]
            assert {body["model"] for body in model.requests} == {"gpt-4o"}
            assert {headers["authorization"] for headers in model.headers} == {"Bearer of-the-model"}
        assert {body["model"] for body in judge.requests} == {"strict"}
        assert {headers["authorization"] for headers in judge.headers} == {"Bearer of-the-judge"}
        assert (run["scored"], run["provenance"]["judge"]) == (8, f"openai/strict at {judge.url}")


def test_a_run_without_a_judgement_says_why_and_is_not_ranked(serve: Serve) -> None:
    def prose(body: Body) -> Reply:
        return Reply("Rather good.") if body["model"] == "j" else ANSWER

    with serve(prose) as client:
        spec = {**DOCUMENTED, "judge": "openai/j"}
        run = ended(client, client.post("/api/v1/benchmarks/runs", json=spec).json()["id"])
        results = client.get(f"/api/v1/benchmarks/runs/{run['id']}/results").json()
        boards = client.get("/api/v1/benchmarks/leaderboard").json()
    assert results["means"][0]["value"] is None and results["means"][0]["coverage"] == 0
    assert "not one JSON object" in results["problems"][0] and "(8 of 8)" in results["problems"][0]
    assert all(not board["entries"] for board in boards)


def test_replies_of_the_judge_are_reused_between_runs(serve: Serve) -> None:
    with serve(a_judge_beside_the_model) as client:
        spec = {**DOCUMENTED, "judge": "openai/j", "metrics": ["correctness"]}
        ids = [ended(client, client.post("/api/v1/benchmarks/runs", json=spec).json()["id"])["id"] for _ in range(2)]
        counts = [client.get(f"/api/v1/benchmarks/runs/{name}/results").json()["judge_cached"] for name in ids]
    assert counts == [0, 8]


def test_each_question_counts_once_where_a_run_or_a_request_asks_for_it(serve: Serve, tmp_path: Path) -> None:
    asked = ["Six times seven?", "six times seven", "Six times seven", "Two plus two?"]
    tasks = [{"id": f"t{n}", "name": "T", "input": text, "expected_output": "42"} for n, text in enumerate(asked)]
    folder = tmp_path / "tasks"
    folder.mkdir()
    (folder / "sums.yaml").write_text(json.dumps({"name": "Sums", "tasks": tasks}))

    def answered(body: Body) -> Reply:
        return Reply("42" if "even" in str(body["messages"]) else "5")

    with serve(answered, benchmark_datasets_dir=folder) as client:
        wanted = {"dataset": "sums", "model": "openai/m", "metrics": ["exact_match"]}
        started = [
            client.post("/api/v1/benchmarks/runs", json={**wanted, **more}).json() for more in ({}, {"weighted": True})
        ]
        plain, weighted = (ended(client, run["id"])["id"] for run in started)

        def mean(run: str, **query: Any) -> tuple[float, int]:
            found = client.get(f"/api/v1/benchmarks/runs/{run}/results", params=query).json()["means"][0]
            return found["value"], found["n"]

        assert [mean(plain), mean(plain, weighted=True)] == [(0.75, 4), (0.5, 2)]
        assert [mean(weighted), mean(weighted, weighted=False)] == [(0.5, 2), (0.75, 4)]
        means = client.get("/api/v1/benchmarks/means", params={"run": [plain, weighted]}).json()
        assert [means[run][0]["value"] for run in (plain, weighted)] == [0.75, 0.5]
        pair = {"first": plain, "second": weighted}
        assert client.get("/api/v1/benchmarks/compare", params=pair).json()["metrics"][0]["n"] == 4
        once = client.get("/api/v1/benchmarks/compare", params={**pair, "weighted": True}).json()
        assert (once["weighted"], once["metrics"][0]["n"]) == (True, 2)
        report = client.get(f"/api/v1/benchmarks/runs/{plain}/report.json", params={"weighted": True}).json()
        assert (report["questions"], report["metrics"][0]["mean"]["value"]) == (2, 0.5)

        def board(**query: Any) -> tuple[bool, float, int]:
            (found,) = client.get("/api/v1/benchmarks/leaderboard", params=query).json()
            mean = found["entries"][0]["means"][0]
            return found["weighted"], mean["value"], mean["n"]

        # The newest run of the model was started weighted.
        assert [board(), board(weighted=False)] == [(True, 0.5, 2), (False, 0.75, 4)]
