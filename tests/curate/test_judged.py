"""A judge as detector: asked over real HTTP before the transaction; the fitted model answers where it cannot."""

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from evergold.errors import BadInput
from evergold.judge.daily import DailyBudget
from evergold.model.check import RemarkKind, ShownRemark
from evergold.model.trace import Trace
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.builders import a_trace
from tests.openai_server import Body, Reply, Script, ScriptedServer, json_reply, serving
from tests.patience import PATIENCE

CORRECTION = {"evidence": "a las ocho", "kind": "correction", "turn": 2, "probability": 0.9}
NONE = {"evidence": "", "kind": "none", "turn": 0, "probability": 0.9}


def turn(number: int, said: str, answer: str) -> Trace:
    at = f"2026-01-01T10:0{number}:00Z"
    return a_trace(f"t{number}", session_id="s", input=said, output=answer, started_at=at)


CHAT = [
    turn(1, "¿Cuándo abre el museo?", "El museo abre a las nueve."),
    turn(2, "¿Y hay taquilla?", "Sí, en la entrada."),
    turn(3, "Mi prima entra siempre a las ocho, por cierto.", "Entiendo."),
]
PLAIN = [
    turn(1, "When does it open?", "It opens at 9."),
    turn(2, "No, that is wrong, it opens at 8.", "You are right."),
]


def of(message: str, said: dict[str, object]) -> Script:
    """Answer `said` about one message and "none" about every other."""

    def reply(body: Body) -> Reply:
        prompt = body["messages"][-1]["content"]
        asked = json.loads(prompt[prompt.index("{") : prompt.index("\n}\n") + 2])
        return json_reply(said if asked["message"] == message else NONE)

    return reply


@contextmanager
def judged(settings: Settings, script: Script, **more: object) -> Iterator[tuple[Workspace, ScriptedServer]]:
    with serving(script) as server:
        chosen = replace(
            settings,
            curation_detector="judge:openai/m",
            judge_base_url=server.url,
            judge_api_key="k",
            **more,  # type: ignore[arg-type]
        )
        with Workspace.open(chosen) as ws:
            yield ws, server


def remarks(ws: Workspace, trace_id: str) -> list[ShownRemark]:
    return list(ws.live.explain(trace_id)[0].remarks)


def counts(ws: Workspace) -> dict[str, int]:
    found = {name: number for name, number in ws.intake.counts().items() if name.startswith("detector_judge.")}
    return {re.sub(":.*", "", name.removeprefix("detector_judge.")): number for name, number in found.items()}


def test_a_judge_says_kind_turn_evidence_and_probability(settings: Settings) -> None:
    with judged(settings, of(CHAT[2].input, CORRECTION)) as (ws, server):
        ws.intake.accept(CHAT)
        ws.live.curate()
        (found,) = remarks(ws, "t1")
        assert (found.message_id, found.target_id, found.kind) == ("t3", "t1", RemarkKind.CORRECTION)
        assert (found.probability, found.evidence, found.detector) == (0.9, ("a las ocho",), "judge:openai/m")
        assert [score.value for score in ws.intake.get("t1").scores if score.by_detector] == [0.0]
        ws.live.curation.backfill()
        assert len(server.requests) == 2 and counts(ws) == {"asked": 2}  # the first message has nothing before it


def test_what_a_judge_does_not_see_is_no_remark_whatever_the_fitted_model_says(settings: Settings) -> None:
    with judged(settings, json_reply(NONE)) as (ws, _):
        ws.intake.accept(PLAIN)
        ws.live.curate()
        assert remarks(ws, "t1") == []


@pytest.mark.parametrize(
    "answer",
    [
        Reply("I think it is a correction."),
        Reply(status=400, raw=b"{}"),
        json_reply(CORRECTION | {"turn": 9}),
        json_reply(CORRECTION | {"probability": 7}),
        json_reply(CORRECTION | {"kind": "insult"}),
    ],
)
def test_the_fitted_model_answers_where_the_judge_fails_and_that_is_counted(settings: Settings, answer: Reply) -> None:
    with judged(settings, answer) as (ws, _):
        ws.intake.accept(PLAIN)
        ws.live.curate()
        (found,) = remarks(ws, "t1")
        assert found.kind is RemarkKind.CORRECTION and "by the fitted model: the judge" in found.evidence[-1]
        assert counts(ws) == {"asked": 1, "failed": 1}


def test_a_spent_budget_and_a_sample_leave_the_rest_to_the_fitted_model(settings: Settings) -> None:
    with judged(settings, json_reply(NONE), curation_detector_budget=1) as (ws, server):
        ws.intake.accept(CHAT)
        ws.live.curate()
        assert len(server.requests) == 1 and counts(ws) == {"asked": 1, "over_budget": 1}
    with judged(settings, json_reply(NONE), curation_detector_budget=1) as (ws, server):
        ws.intake.accept([trace.model_copy(update={"session_id": "other", "id": f"o{trace.id}"}) for trace in PLAIN])
        ws.live.curate()
        assert server.requests == []  # another process of the same day
        assert "budget of 1 questions a day" in remarks(ws, "ot1")[0].evidence[-1]
    with judged(settings, json_reply(NONE), curation_detector_sample=0.0) as (ws, server):
        ws.intake.accept([trace.model_copy(update={"session_id": "third", "id": f"u{trace.id}"}) for trace in PLAIN])
        ws.live.curate()
        assert server.requests == [] and remarks(ws, "ut1")[0].kind is RemarkKind.CORRECTION


def test_a_slow_judge_does_not_hold_up_intake(settings: Settings) -> None:
    answered = threading.Event()
    slow = Reply(json.dumps(CORRECTION | {"turn": 1}), hold=answered)
    with judged(settings, slow) as (ws, server):
        ws.intake.accept(PLAIN)
        curator = threading.Thread(target=ws.live.curate)
        curator.start()
        server.wait_for(1)
        assert ws.intake.accept([a_trace("later")]).traces == 1  # committed while the judge thinks
        answered.set()
        curator.join(PATIENCE)
        assert remarks(ws, "t1")[0].evidence == ("a las ocho",)


@pytest.mark.parametrize(
    ("name", "words"), [("judge:offline", "does not read remarks"), ("judge:nobody", "unknown judge 'nobody'")]
)
def test_a_judge_that_cannot_detect_is_one_line(settings: Settings, name: str, words: str) -> None:
    with Workspace.open(replace(settings, curation_detector=name)) as ws, pytest.raises(BadInput, match=words):
        ws.live.curate()


def test_a_budget_begins_anew_each_day() -> None:
    days = iter(["1", "1", "1", "2"])
    budget = DailyBudget({"a": 1}, lambda: next(days))
    assert [budget.take("a", 2) for _ in range(3)] == [True, False, True]
