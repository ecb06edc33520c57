"""Generation with a model, over real HTTP: what it is asked, what is mended, refused, remembered and paid."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from evergold.calls.budget import BudgetReached
from evergold.calls.caller import TargetUnusable
from evergold.errors import BadInput, Conflict, Incomplete, Unavailable
from evergold.generate.model_writer import CallLog
from evergold.model.generation import GenerationReport
from evergold.settings import Settings
from evergold.workspace.generation import Generation
from tests.openai_server import Body, Reply, ScriptedServer, broken, json_reply, rate_limited, serving, truncated

KEY = "sk-test-0123456789abcdefghij"
BOOTS = (
    "Worn boots can be returned within 30 days, for store credit only. The credit is valid for 2 years in all shops."
)
TENTS = "Tents are covered for 3 years against faults of material. The workshop in Arequipa mends them in a week."


def said(body: Body) -> str:
    return str(body["messages"][-1]["content"])


def about(body: Body) -> str:
    """Which document a prompt is about, by the first passage or question in it."""
    text = str(body["messages"][0]["content"])
    return "boots" if "boots" in text.rpartition("\n\n")[2].lower() else "tents"


def well(body: Body) -> Reply:
    """A model that does everything right."""
    prompt = said(body)
    if prompt.startswith("Write") and "questions" in prompt:
        return json_reply({"questions": [f"What about {about(body)}, and for how long does it hold?"]})
    if prompt.startswith("Name"):
        return json_reply({"topics": [about(body)]})
    return Reply(f"It is so for {about(body)} [1]. It holds for long [1].")


@dataclass
class Project:
    root: Path
    server: ScriptedServer
    section: dict[str, Any] = field(default_factory=dict)

    def generate(self, resume: bool | None = None, **flags: Any) -> GenerationReport:
        config = self.root / "config.yaml"
        tasks = {"qa": 1, "summaries": 0, "citations": 0}
        base = {"tasks": tasks, "retrieval": {"contexts": 2}, **self.section}
        base["citations"] = {"support": "none", **base.get("citations", {})}  # most answers here stand for any answer
        config.write_text(json.dumps({"generation": base}))
        settings = Settings(model_base_url=self.server.url, model_api_key=KEY, benchmark_tries=3)
        given = {"documents": str(self.root / "docs"), "output": "out.jsonl", "model": "openai/scripted", **flags}
        generation = Generation(settings)
        return generation.generate(generation.plan(config, given, resume))

    def lines(self, name: str = "out.jsonl") -> list[dict[str, Any]]:
        path = self.root / name
        return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


Start = Callable[..., Project]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """A project with two documents and a server that plays a script."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "boots.txt").write_text(BOOTS)
    (tmp_path / "docs" / "tents.txt").write_text(TENTS)
    opened = []

    def make(script: Callable[[Body], Reply] = well, **section: Any) -> Project:
        context = serving(
            script, embed=lambda text: [float("boots" in text.lower()), float("tents" in text.lower()), 0.1]
        )
        opened.append(context)
        return Project(tmp_path, context.__enter__(), section)

    yield make
    for context in opened:
        context.__exit__(None, None, None)


def in_order(*replies: Reply) -> Callable[[Body], Reply]:
    """These replies to answers and rewrites, in order, the last one again and again; questions are asked well."""
    left = list(replies)

    def script(body: Body) -> Reply:
        if said(body).startswith("Write") and "questions" in said(body):
            return well(body)
        return left.pop(0) if len(left) > 1 else left[0]

    return script


def test_questions_summaries_and_citations_are_written_by_the_model(start: Start) -> None:
    project = start(tasks={"qa": 1, "summaries": 1, "citations": 1})
    report = project.generate()
    assert report.records == {"qa": 2, "summaries": 2, "citations": 2}
    assert (report.calls, report.usage.input_tokens, report.usage.output_tokens) == (10, 100, 50)
    assert report.usage.cost is None
    first = project.lines()[0]
    assert first["instruction"] == "What about boots, and for how long does it hold?"
    assert first["metadata"]["generator"] == f"openai/scripted at {project.server.url}"
    assert first["metadata"]["label"] == "written by a model"
    assert [one["marker"] for one in first["rag"]["citations"]] == [1, 1]
    assert first["rag"]["contexts"][0].startswith("[1] ")
    assert first["rag"]["prompt"] in [said(body) for body in project.server.requests]
    assert project.server.headers[0]["authorization"] == f"Bearer {KEY}"


def test_an_answer_without_citations_is_written_again(start: Start) -> None:
    def script(body: Body) -> Reply:
        if "questions" in said(body):
            return well(body)
        return Reply("It is so [1]. It holds [1].") if len(body["messages"]) == 3 else Reply("It is so. It holds [7].")

    project = start(script)
    report = project.generate()
    again = [said(body) for body in project.server.requests if len(body["messages"]) == 3]
    assert [("“It is so.”" in one, "[7] is not among the 2 passages" in one) for one in again] == [(True, True)] * 2
    assert (report.records, report.rewritten) == ({"qa": 2}, 2)


def test_what_is_still_wrong_after_the_rewrite_is_refused_and_kept(start: Start) -> None:
    wrong = {"boots": Reply("Boots go back [9]."), "tents": Reply("Tents last [1].")}
    project = start(lambda body: well(body) if "questions" in said(body) else wrong[about(body)])
    report = project.generate()
    assert (report.records, report.rejected, report.rewritten) == ({"qa": 1}, {"citations": 1}, 1)
    [refused] = project.lines("out.rejected.jsonl")
    assert refused["detail"] == "[9] is not among the 2 passages"
    assert refused["drafts"] == ["Boots go back [9].", "Boots go back [9]."]
    assert refused["instruction"] == "What about boots, and for how long does it hold?"


def test_one_rewrite_is_enough_when_it_mends(start: Start) -> None:
    project = start(in_order(Reply("It is so, plainly."), Reply("It is so, plainly [1].")))
    report = project.generate()
    assert (report.records, report.rejected, report.rewritten) == ({"qa": 2}, {}, 1)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply("NOT ANSWERABLE"), "not answerable"),
        (truncated("It is so [1]. And"), "cut off"),
        (Reply(raw=b"<html>"), "call failed"),
        (broken(500), "call failed"),
        (broken(400), "call failed"),
    ],
)
def test_an_answer_that_is_none_is_refused_with_its_reason(start: Start, reply: Reply, reason: str) -> None:
    project = start(
        lambda body: well(body) if "questions" in said(body) or about(body) == "tents" else reply,
        params={"timeout": 30},
    )
    report = project.generate()
    assert (report.records, report.rejected) == ({"qa": 1}, {reason: 1})


def test_a_rate_limit_and_a_bad_moment_are_tried_again(start: Start) -> None:
    project = start(in_order(rate_limited(0.01), broken(503), Reply("It is so [1].")))
    report = project.generate()
    assert report.records == {"qa": 2}
    assert report.failed_calls == 2
    failures = [line["error"] for line in project.lines("out.calls.jsonl") if line["error"]]
    assert len(failures) == 2


def test_questions_that_are_no_json_are_asked_for_once_more(start: Start) -> None:
    def script(body: Body) -> Reply:
        if len(body["messages"]) == 1 and "questions" in said(body):
            return Reply("Sure! Here are some questions.")
        return json_reply({"questions": ["What about boots in winter?", 7]}) if "one JSON" in said(body) else well(body)

    project = start(script)
    report = project.generate(limit=1)
    assert report.records == {"qa": 1}
    never = start(lambda body: Reply("no") if "one JSON" in said(body) else well(body))
    with pytest.raises(Incomplete, match="2 malformed reply"):
        never.generate(output="never.jsonl")
    assert not (never.root / "never.jsonl").exists()


def test_a_question_that_was_asked_already_is_refused(start: Start) -> None:
    same = json_reply({"questions": ["How long is the thing good for in all shops?"]})
    project = start(
        lambda body: same if "questions" in said(body) else Reply("It is good for 2 years in all the shops [1].")
    )
    report = project.generate()
    assert (report.records, report.rejected) == ({"qa": 1}, {"near-duplicate": 1})
    [refused] = project.lines("out.rejected.jsonl")
    assert project.lines()[0]["task_id"] in refused["detail"]


def test_a_wrong_key_stops_at_once_and_stays_out_of_the_log(start: Start) -> None:
    told = json.dumps({"error": {"message": f"Incorrect API key provided: {KEY}", "code": "invalid_api_key"}}).encode()
    project = start(lambda body: Reply(status=401, raw=told))
    with pytest.raises(TargetUnusable, match="auth"):
        project.generate()
    assert not (project.root / "out.jsonl").exists()
    log = (project.root / "out.calls.jsonl").read_text()
    assert "Incorrect API key" in log
    assert KEY not in log


def test_what_was_answered_is_not_asked_again_and_gives_the_same_bytes(start: Start) -> None:
    project = start(tasks={"qa": 1, "summaries": 1, "citations": 0})
    project.generate()
    before, asked = (project.root / "out.jsonl").read_bytes(), len(project.server.requests)
    with pytest.raises(Conflict, match="--resume"):
        project.generate()
    report = project.generate(resume=True)
    assert (report.calls, report.calls_from_log, report.usage.input_tokens) == (0, asked, 0)
    assert report.usage_from_log.input_tokens == 10 * asked
    assert (project.root / "out.jsonl").read_bytes() == before
    assert project.generate(resume=False).calls == asked
    assert len(project.server.requests) == 2 * asked


def test_a_new_document_costs_its_own_calls_only(start: Start) -> None:
    project = start(retrieval={"contexts": 1})
    first = project.generate()
    (project.root / "docs" / "zelt.txt").write_text(
        "Ropes hold until they do not. Helmets hold for longer than ropes do."
    )
    second = project.generate(resume=True)
    assert (first.calls, second.calls, second.calls_from_log) == (4, 2, 4)


def test_a_budget_that_is_spent_stops_and_a_larger_one_goes_on(start: Start) -> None:
    project = start(budget={"tokens": 35}, concurrency=1)
    with pytest.raises(BudgetReached, match="resume with a larger budget"):
        project.generate()
    sent = len(project.server.requests)
    project.section["budget"] = {"tokens": 1000}
    assert project.generate().calls_from_log == sent
    project.section["budget"] = {"money": 1.0}
    with pytest.raises(BadInput, match="no price is known"):
        project.generate(resume=True)


def test_calls_run_side_by_side_up_to_the_limit(start: Start) -> None:
    for number in range(12):
        text = f"Document {number} says that boot {number} is fine. " * 6
        Path(start().root / "docs" / f"d{number:02}.txt").write_text(text)
    all_three = threading.Event()

    def answered_together(body: Body) -> Reply:
        if len(project.server.requests) == 2:  # this is the third
            all_three.set()
        return replace(well(body), hold=all_three)

    project = start(answered_together, concurrency=3)
    project.generate()
    assert project.server.most_in_flight == 3


def test_contexts_by_the_embeddings_of_a_server(start: Start) -> None:
    project = start(retrieval={"method": "embeddings", "model": "openai/vectors", "contexts": 1})
    project.server.embed_faults = [rate_limited(0.01)]
    report = project.generate()
    assert report.retrieval == "embeddings of openai/vectors"
    for record in project.lines():
        assert record["rag"]["sources"][0].startswith(record["metadata"]["document"])
        assert record["rag"]["retrieved"][0]["role"] == "retrieved"
    assert project.server.embedded[0]["model"] == "vectors"
    asked = len(project.server.embedded)
    assert project.generate(resume=True).calls == 0
    assert len(project.server.embedded) == asked


def test_vectors_that_do_not_fit_are_an_error(start: Start) -> None:
    project = start(retrieval={"method": "embeddings", "model": "openai/vectors"})
    empty = Reply(raw=json.dumps({"object": "list", "model": "v", "data": []}).encode())
    project.server.embed_faults = [empty] * 10
    with pytest.raises(Unavailable, match="could not embed"):
        project.generate()
    project.section["retrieval"]["model"] = "local/smollm2"
    with pytest.raises(BadInput, match="cannot embed"):
        project.generate()


def test_static_vectors_need_no_server(start: Start) -> None:
    project = start(retrieval={"method": "embeddings", "model": "static", "contexts": 1})
    (project.root / "docs" / "steps.md").write_text(
        "# Return a parcel\n\n1. Open the page of orders.\n2. Click Return.\n"
    )
    report = project.generate(model=None)
    assert (report.calls, report.retrieval) == (0, "embeddings of static")
    assert not (project.root / "out.calls.jsonl").exists()


def test_one_log_belongs_to_one_process_at_a_time(start: Start) -> None:
    project = start()
    log = CallLog.open(project.root / "out.calls.jsonl")
    with pytest.raises(Conflict, match="another process generates"):
        project.generate()
    log._handle.close()
    assert project.generate().records == {"qa": 2}


def test_a_torn_last_line_is_taken_away_and_a_damaged_one_is_named(start: Start) -> None:
    project = start()
    project.generate()
    log = project.root / "out.calls.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole[:-20])
    assert project.generate(resume=True).calls == 1
    log.write_bytes(b"{not json}\n" + whole)
    with pytest.raises(BadInput, match="damaged at byte 0"):
        project.generate(resume=True)


def test_a_writer_that_is_a_model_needs_one(start: Start) -> None:
    with pytest.raises(BadInput, match="needs a model"):
        start(writer="model").generate(model=None)


def test_passages_are_embedded_once_however_many_ask_at_once(start: Start) -> None:
    project = start(retrieval={"method": "embeddings", "model": "openai/vectors"}, concurrency=8)
    project.generate()
    many = [body["input"] for body in project.server.embedded if len(body["input"]) > 1]
    assert many == [[BOOTS, TENTS]]


def test_a_limit_ends_the_calls_of_later_documents_quietly(start: Start, capfd: pytest.CaptureFixture[str]) -> None:
    project = start(lambda body: Reply(well(body).text, delay=0.0 if about(body) == "boots" else 0.05))
    assert project.generate(limit=1).records == {"qa": 1}
    assert capfd.readouterr().err == ""


JUDGED = {"support": "judge", "judge": "offline", "rewrites": 1}


def test_an_answer_that_its_passage_does_not_support_is_refused_and_named(start: Start) -> None:
    project = start(
        in_order(
            Reply("Tents are covered for 3 years against faults of material [1]. Se paga siempre en bitcoin [1].")
        ),
        citations=JUDGED,
    )
    (project.root / "docs" / "boots.txt").unlink()
    with pytest.raises(Incomplete, match="1 unsupported"):
        project.generate()
    asked = [said(body) for body in project.server.requests]
    assert sum("does not support this sentence: “Se paga siempre en bitcoin.”" in prompt for prompt in asked) == 1


def test_a_rewrite_that_stays_with_the_passage_is_kept(start: Start) -> None:
    project = start(
        in_order(Reply("Tents are covered for 30 years [1]."), Reply("Tents are covered for 3 years [1].")),
        citations=JUDGED,
    )
    (project.root / "docs" / "boots.txt").unlink()
    report = project.generate()
    assert (report.records, report.rewritten) == ({"qa": 1}, 1)
    assert project.lines()[0]["expected_response"] == "Tents are covered for 3 years [1]."


def test_refusals_name_the_sentences(start: Start) -> None:
    def script(body: Body) -> Reply:
        if "questions" in said(body):
            return well(body)
        right = "boots" in str(body["messages"][0]["content"]).rpartition("\n\n")[2].lower()
        return Reply(f"{BOOTS.partition('.')[0]} [1]." if right else "The moon is made of green cheese [1].")

    project = start(script, citations=JUDGED)
    report = project.generate()
    assert report.records == {"qa": 1}
    assert report.rejected == {"unsupported": 1}
    (refusal,) = project.lines("out.rejected.jsonl")
    assert refusal["reason"] == "unsupported"
    assert "The moon is made of green cheese" in refusal["detail"]
