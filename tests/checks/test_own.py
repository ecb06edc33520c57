"""Checks of one's own: patterns, functions that misbehave, and judges with sampling and a budget."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from evergold.checks.own import RegexCheck
from evergold.errors import BadInput
from evergold.model.check import Turn
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.builders import a_trace
from tests.openai_server import Reply, broken, json_reply, serving
from tests.patience import PATIENCE

RELEASE = threading.Event()


def hangs(turn: Turn) -> float:
    RELEASE.wait(60)
    return 1.0


CALLED, GO_ON = threading.Event(), threading.Event()
TURNS: list[str] = []


def waits(turn: Turn) -> float:
    TURNS.append(turn.id)
    CALLED.set()
    return float(GO_ON.wait(PATIENCE))


def own(folder: Path, text: str, **more: object) -> Workspace:
    file = folder / "own.toml"
    file.write_text(text)
    return Workspace.open(Settings(home=folder / "home", checks_files=(str(file),), **more))  # type: ignore[arg-type]


def judged(ws: Workspace) -> dict[str, float]:
    scores = {f"t{n}": [s for s in ws.intake.get(f"t{n}").scores if s.name == "polite"] for n in range(4)}
    return {name: held[0].value for name, held in scores.items() if held}


def judge_check(**more: object) -> str:
    rest = "\n".join(f"{key} = {value}" for key, value in more.items())
    return f'[[check]]\nname = "polite"\nkind = "judge"\njudge = "openai/m"\nrubric = "Be polite."\n{rest}\n'


def test_a_pattern_knows_letters_beyond_ascii() -> None:
    check = RegexCheck(name="a", kind="regex", pattern=r"^\w+$")
    assert check.check(Turn("t", "", "mañana")).value == 1.0  # type: ignore[union-attr]
    assert check.check(Turn("t", "", "two words")).value == 0.0  # type: ignore[union-attr]


def test_a_group_that_took_no_part_is_still_a_match() -> None:
    check = RegexCheck(name="a", kind="regex", pattern="x|(y)")
    assert check.check(Turn("t", "", "x")).value == 1.0  # type: ignore[union-attr]


def test_a_pattern_without_linear_time_is_refused(tmp_path: Path) -> None:
    text = '[[check]]\nname = "a"\nkind = "regex"\npattern = "(?=a)b"'
    with own(tmp_path, text) as ws, pytest.raises(BadInput, match="lookahead"):
        ws.live.curate()


def test_a_function_that_hangs_is_an_error_once_and_not_called_again(tmp_path: Path) -> None:
    name = "tests.checks.test_own:hangs"
    text = f'[[check]]\nname = "h"\nkind = "python"\nfunction = "{name}"\ntimeout_seconds = 0.05'
    with own(tmp_path, text) as ws:
        ws.intake.accept([a_trace("t1"), a_trace("t2")])
        ws.live.curate()
        assert ws.intake.get("t1").scores == () and set(ws.live.checks.state()["errors"]) == {"h"}  # type: ignore[call-overload]
    RELEASE.set()


def test_a_slow_function_does_not_hold_up_intake(tmp_path: Path) -> None:
    text = '[[check]]\nname = "s"\nkind = "python"\nfunction = "tests.checks.test_own:waits"\ntimeout_seconds = 60'
    with own(tmp_path, text) as ws:
        ws.intake.accept([a_trace("t0")])
        curators = [threading.Thread(target=ws.live.curate) for _ in range(2)]
        for one in curators:
            one.start()
        assert CALLED.wait(PATIENCE)
        assert ws.intake.accept([a_trace("t1")]).traces == 1  # committed while the function runs
        GO_ON.set()
        for one in curators:
            one.join(PATIENCE)
        assert [ws.intake.get(name).scores[0].value for name in ("t0", "t1")] == [1.0, 1.0]
    assert TURNS == ["t0", "t1"]  # once each, however many curate


def test_a_caller_that_cannot_wait_leaves_the_rest_waiting(tmp_path: Path) -> None:
    with own(tmp_path, '[[check]]\nname = "l"\nkind = "length"\nmin_chars = 1') as ws:
        ws.intake.accept([a_trace("t1")])
        assert ws.live.curate(seconds=0).traces == 0 and ws.live.count_waiting() == 1
        assert ws.live.curate(seconds=PATIENCE).traces == 1 and ws.live.count_waiting() == 0


def test_a_judge_gives_a_score_that_a_policy_may_ignore(tmp_path: Path) -> None:
    with serving(json_reply({"reason": "kind", "score": 9})) as server:
        with own(tmp_path, judge_check(), judge_base_url=server.url, judge_api_key="k") as ws:
            ws.intake.accept([a_trace(f"t{n}") for n in range(4)])
            ws.live.curate()
            assert judged(ws) == dict.fromkeys(("t0", "t1", "t2", "t3"), 0.9)
            assert ws.intake.get("t0").scores[0].source == "llm_judge" and ws.live.stats().total == 0
        assert "Be polite." in server.prompts()[0]


def test_a_budget_that_is_spent_waits_and_says_so(tmp_path: Path) -> None:
    with serving(json_reply({"reason": "kind", "score": 9})) as server:
        with own(tmp_path, judge_check(budget=2), judge_base_url=server.url, judge_api_key="k") as ws:
            ws.intake.accept([a_trace(f"t{n}") for n in range(4)])
            ws.live.curate()
            assert len(judged(ws)) == 2 and set(ws.live.checks.state()["errors"]) == {"polite"}  # type: ignore[call-overload]
        assert len(server.requests) == 2


def test_a_sample_of_nothing_asks_nobody(tmp_path: Path) -> None:
    with serving(broken()) as server, own(tmp_path, judge_check(sample=0.0), judge_base_url=server.url) as ws:
        ws.intake.accept([a_trace(f"t{n}") for n in range(4)])
        ws.live.curate()
        assert judged(ws) == {} and server.requests == []


def test_a_slow_judge_does_not_hold_up_intake(tmp_path: Path) -> None:
    asked, release = threading.Event(), threading.Event()

    def slow(_: object) -> Reply:
        asked.set()
        return replace(json_reply({"reason": "kind", "score": 9}), hold=release)

    with serving(slow) as server, own(tmp_path, judge_check(), judge_base_url=server.url, judge_api_key="k") as ws:
        ws.intake.accept([a_trace("t0")])
        curating = threading.Thread(target=ws.live.curate)
        curating.start()
        assert asked.wait(PATIENCE)
        assert ws.intake.accept([a_trace(f"t{n}") for n in (1, 2, 3)]).traces == 3  # committed while the judge thinks
        release.set()
        curating.join(PATIENCE)
        assert judged(ws) == dict.fromkeys(("t0", "t1", "t2", "t3"), 0.9)
        assert len(server.requests) == 4


def test_a_judge_that_knows_no_rubrics_is_an_error_of_the_check_and_no_score(tmp_path: Path) -> None:
    text = '[[check]]\nname = "polite"\nkind = "judge"\njudge = "offline"\nrubric = "Be polite."'
    with own(tmp_path, text) as ws:
        ws.intake.accept([a_trace("t0")])
        assert ws.live.curate().traces == 1
        assert ws.intake.get("t0").scores == () and ws.live.checks.state()["errors"] == {"polite": 1}
        (said,) = ws.live.checks.stage.explain("t0")
        assert said.error is not None and "offline judge does not know the task 'rubric'" in said.error
