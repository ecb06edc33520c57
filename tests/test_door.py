"""The Python door: one walk through all of it, in a folder and over a server, and the errors of wrong arguments."""

import asyncio
import getpass
import inspect
import pydoc
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import evergold
from evergold.door import CaseList, Door, ExportResult, RunResult, TraceList
from evergold.errors import EvergoldError
from evergold.model.build import Build
from evergold.model.report import RunComparison
from tests.api.serving import served
from tests.builders import a_case
from tests.repos import GitRepo
from tests.rows import try_each

VERBS = ("ingest", "curate", "traces", "explain", "cases", "review", "build", "run", "compare", "export", "extract")
GOOD = [{"name": "helpful", "value": 1.0, "source": source} for source in ("system", "user")]


def some_traces(count: int = 8) -> list[dict[str, Any]]:
    return [
        {"id": f"t{at}", "input": f"How long may I return item {at}?", "output": f"{at} days.", "scores": GOOD}
        for at in range(1, count + 1)
    ]


@pytest.fixture(params=["folder", pytest.param("server", marks=pytest.mark.slow)])
def ws(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Door]:
    if request.param == "folder":
        with evergold.open(tmp_path) as opened:
            yield opened
        return
    with served(tmp_path, EVERGOLD_EVAL_AUTO_CURATE="false", EVERGOLD_SERVER_TOKEN="secret-token-1") as url:
        yield evergold.open(url=url, token="secret-token-1")


def test_the_whole_loop(ws: Door, tmp_path: Path) -> None:
    report = ws.ingest(some_traces())
    assert (report.traces, report.rejected) == (8, 0)
    assert str(report).startswith("ingested: 8 traces")
    curated = ws.curate()
    assert (curated.traces, curated.tiers, curated.waiting) == (8, {"confirmed": 8}, 0)
    traces = ws.traces(search="item 3")
    assert isinstance(traces, TraceList)
    assert [trace.id for trace in traces] == ["t3"]
    assert ws.explain(traces[0])[0].tier == ws.explain("t3")[0].tier
    cases = ws.cases("live", type="golden", limit=3)
    assert isinstance(cases, CaseList)
    assert len(cases) == 3
    assert str(cases).startswith("3 cases" if cases.total is None else "3 of 8 cases")
    assert len(ws.cases(limit=None)) == 8
    decided = ws.review(cases[0], "approve", answer="Thirty days.", comment="looked it up")
    assert (decided.review.value, decided.reference().text) == ("validated", "Thirty days.")  # type: ignore[union-attr]
    assert ws.review(f"live/{cases[1].id}", "dismiss").status.value == "dismissed"
    build = ws.build("live")
    assert isinstance(build, Build)
    assert (build.name, build.cases) == ("live@v1", 7)
    first = ws.run(build, "recorded", "token_f1")
    assert isinstance(first, RunResult)
    second = ws.run("live@v1", "recorded", ["token_f1"], trials=1)
    compared = ws.compare(first, second.id)
    assert isinstance(compared, RunComparison)
    assert compared.metrics[0].difference == 0
    assert ws.result(first.id)["token_f1"] == first["token_f1"]
    written = ws.export("live", "live-jsonl", tmp_path / "live.jsonl", type="golden")
    assert isinstance(written, ExportResult)
    assert written.path.read_text().count("\n") == 7
    if "http" in repr(ws):
        with pytest.raises(EvergoldError, match="limit= of export"):
            ws.export("live", "live-jsonl", tmp_path / "one.jsonl", limit=1)
    for shown in (report, curated, traces, cases, ws.explain("t3"), decided, build, first, compared, written):
        assert str(shown).strip()
        assert "<" in shown._repr_html_()


def test_files_are_taken_in(ws: Door, tmp_path: Path) -> None:
    file = tmp_path / "more.jsonl"
    file.write_text('{"id": "f1", "input": "Hi?", "output": "Hello."}\n{"id": 3}\n')
    report = ws.ingest(str(file))
    assert (report.traces, report.rejected, len(report.problems)) == (1, 1, 1)
    score = {"type": "score", "trace_id": "f1", "name": "thumbs", "value": 1, "source": "user"}
    assert ws.ingest(score, {"type": "correction", "trace_id": "f1", "text": "Good day."}).scores == 1
    assert ws.ingest({"id": "x", "output": 4}).rejected == 1


WRONG = {
    "path and url": (lambda ws: evergold.open("x", url="http://127.0.0.1:1"), "give one"),
    "token without url": (lambda ws: evergold.open(token="x"), "goes with url"),
    "a file as folder": (lambda ws: evergold.open(__file__), "is a file"),
    "no url": (lambda ws: evergold.open(url="localhost"), "not the URL of a server"),
    "nobody there": (lambda ws: evergold.open(url="http://127.0.0.1:9").traces(), "cannot reach"),
    "records": (lambda ws: ws.ingest(42), "not 42"),
    "filter": (lambda ws: ws.traces(colour="red"), "unknown filter 'colour'"),
    "filter's value": (lambda ws: ws.traces(status="odd"), "status"),
    "limit": (lambda ws: ws.cases(limit=0), "not 0"),
    "limit as text": (lambda ws: ws.traces(limit="3"), "limit must be a whole number of 1 or more or None, not '3'"),
    "one argument too many": (lambda ws: ws.curate(1), "curate(): too many positional arguments"),
    "source": (lambda ws: ws.ingest("x.jsonl", source=3), "source must be a text or None, not 3"),
    "order": (lambda ws: ws.traces(order=3), "order must be a text"),
    "reviewer": (lambda ws: ws.review("live/t1", "approve", by=3), "by must be a text or None"),
    "split": (lambda ws: ws.build("live", split=3), "split must be a text, a dict or None, not 3"),
    "metrics": (lambda ws: ws.run([a_case()], "recorded", None), "metrics must be a text or a list, not None"),
    "params": (lambda ws: ws.run([a_case()], "recorded", "token_f1", params="x"), "params must be a dict"),
    "margin": (lambda ws: ws.compare("run_1", "run_2", margin="x"), "margin must be a number or None, not 'x'"),
    "export's limit": (lambda ws: ws.export("live", "case-jsonl", "x", limit=-1), "not -1"),
    "extract's limit": (lambda ws: ws.extract("git", limit="x"), "limit must be"),
    "tier": (lambda ws: ws.score_retrieval([a_case()], [], tier="x"), "'edited', 'core' or 'all', not 'x'"),
    "url": (lambda ws: evergold.open(url=3), "url must be a text or None"),  # type: ignore[arg-type]
    "file of cases": (lambda ws: ws.cases(Path("nope.jsonl")), "no file 'nope.jsonl'"),
    "no trace": (lambda ws: ws.explain("nope"), "nope"),
    "a number as trace": (lambda ws: ws.explain(7), "not 7"),
    "dataset": (lambda ws: ws.cases("nope"), "unknown dataset 'nope'"),
    "verdict": (lambda ws: ws.review("live/t1", "fine"), "unknown verdict 'fine'"),
    "case": (lambda ws: ws.review("live/none", "approve"), "no case 'live/none'"),
    "build": (lambda ws: ws.build([a_case()]), "by its name"),
    "build's option": (lambda ws: ws.build("live", colour=1), "unknown option of build() 'colour'"),
    "run's dataset": (lambda ws: ws.run(5, "recorded", "token_f1"), "not 5"),
    "run's model": (lambda ws: ws.run([a_case()], None, "token_f1"), "not None"),
    "run's metric": (lambda ws: ws.run([a_case()], "recorded", "nope"), "unknown metric 'nope'"),
    "run's option": (lambda ws: ws.run([a_case()], "recorded", "token_f1", trial=2), "did you mean 'trials'"),
    "trials": (lambda ws: ws.run([a_case()], "recorded", "token_f1", trials="many"), "trials"),
    "compare": (lambda ws: ws.compare("run_1", a_case()), "candidate must be"),
    "unknown run": (lambda ws: ws.compare("run_1", "run_2"), "run_1"),
    "format": (lambda ws: ws.export("live", "docx", "x"), "unknown format 'docx'"),
    "export's path": (lambda ws: ws.export("live", "live-jsonl", 3), "not 3"),
    "extract": (lambda ws: ws.extract("git", repos="."), "unknown option of extract git 'repos'"),
    "no repository": (lambda ws: ws.extract("git", repo="/nowhere"), "/nowhere"),
    "predictions": (lambda ws: ws.score_retrieval([a_case()], 5), "not 5"),
}


def test_a_wrong_argument_is_one_sentence(tmp_path: Path) -> None:
    def check(call: Any, words: str) -> None:
        with pytest.raises(EvergoldError) as raised:
            call(ws)
        assert words in raised.value.message
        assert "\n" not in raised.value.message

    with evergold.open(tmp_path) as ws:
        ws.ingest(some_traces(1))
        try_each((name, partial(check, *row)) for name, row in WRONG.items())


def test_a_function_is_a_model_also_inside_an_event_loop(tmp_path: Path) -> None:
    questions = [a_case("a", input="4?", expected="4"), a_case("b", input="5?", expected="5")]

    async def answer(prompt: str, trial: int) -> str:
        await asyncio.sleep(0)
        return prompt[0]

    class Model:
        def __call__(self, case: Any) -> str:
            return str(case.expected)

    with evergold.open(tmp_path) as ws:

        async def notebook() -> float | None:
            return ws.run(questions, answer, "exact_match")["exact_match"].value

        assert asyncio.run(notebook()) == 1.0
        result = ws.run(questions, Model(), "exact_match")
        assert result["exact_match"].value == 1.0
        assert result.run.spec.model.endswith("Model")
        with pytest.raises(EvergoldError, match="unknown metric 'x'"):
            _ = result["x"]


def test_what_a_function_raises_is_the_error_of_its_attempt(tmp_path: Path) -> None:
    def fail(prompt: str) -> str:
        raise RuntimeError("no battery")

    with evergold.open(tmp_path) as ws:
        assert ws.run([a_case(expected="4")], fail, "exact_match")["exact_match"].errors == 1


def test_datasets_may_be_files_and_cases(tmp_path: Path) -> None:
    with evergold.open(tmp_path) as ws:
        file = tmp_path / "cases.jsonl"
        ws.export([a_case("a", expected="Lima."), a_case("b", expected="Lima.")], "case-jsonl", file)
        assert [case.id for case in ws.cases(str(file))] == ["a", "b"]
        assert ws.run(ws.cases(str(file)), "recorded", "exact_match")["exact_match"].value == 1.0
        assert ws.run(file, "recorded", "exact_match")["exact_match"].value == 1.0


def test_a_repository_becomes_cases_and_retrieval_is_scored(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "repo")
    repo.commit({"a.py": "one = 1\n"}, "feat: begin the program with a first number")
    repo.commit({"a.py": "one = 2\n"}, "fix: count from two as the manual says")
    with evergold.open(tmp_path) as ws:
        summary = ws.extract("git", repo=repo.path, out_dir=tmp_path / "out", into_store=True)
        assert summary.counts["new"] >= 1
        assert str(summary)
        golden = ws.cases("context")
        scored = ws.score_retrieval(golden, [{"caseId": golden[0].id, "paths": ["a.py"]}])
        assert scored["file"]["macro"]["recall"]["value"] == 1.0
        assert "recall" in str(scored)


def test_the_reviewer_is_the_user_of_the_system(tmp_path: Path) -> None:
    with evergold.open(tmp_path) as ws:
        ws.ingest(some_traces(2))
        ws.curate()
        one, other = ws.cases()
        ws.review(one, "approve")
        ws.review(other.id, "approve", by="Ada")
        history = [ws.workspace.cases.history("live", case.id)[-1].who for case in (one, other)]
    assert history == [getpass.getuser(), "Ada"]


def test_texts_print_without_control_characters(tmp_path: Path) -> None:
    with evergold.open(tmp_path) as ws:
        ws.ingest({"id": "t1", "input": "\x1b[2Jgone\x07", "output": "<script>"})
        assert "\x1b" not in str(ws.traces())
        assert "<script>" not in ws.traces()._repr_html_()


def test_a_refused_record_says_every_field_that_is_valid(tmp_path: Path) -> None:
    with evergold.open(tmp_path) as ws:
        printed = str(ws.ingest({"trace_id": "t1", "input": "q", "output": "a"}))
    assert "unknown field 'trace_id'" in printed
    assert "user_id)" in printed


def test_help_shows_every_verb() -> None:
    assert dir(evergold) == sorted(evergold.__all__)
    assert "open(path" in pydoc.plain(pydoc.render_doc(evergold))
    for verb in (*VERBS, "score_retrieval"):
        doc = inspect.getdoc(getattr(Door, verb)) or ""
        assert ">>> " in doc, verb
        assert "over `url`" in doc.lower(), verb
