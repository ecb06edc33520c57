"""Checks over stored traces: what grows from an exporter alone, what is replaced, and what could not run."""

import threading
from pathlib import Path

import pytest

from evergold.checks.builtin import Grounded
from evergold.errors import BadInput
from evergold.model.check import Turn
from evergold.model.trace import ScoreLine, ScoreSource, Trace, TraceStatus
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.builders import a_trace


def opened(home: Path, **more: object) -> Workspace:
    return Workspace.open(Settings(home=home, checks_builtin="true", **more))  # type: ignore[arg-type]


def tiers(ws: Workspace, *ids: str) -> dict[str, str]:
    return {trace_id: ws.live.explain(trace_id)[0].tier.value for trace_id in ids}


def values(ws: Workspace, trace_id: str) -> dict[str, float]:
    return {score.name: score.value for score in ws.intake.get(trace_id).scores}


def raises(turn: Turn) -> float:
    raise RuntimeError("broken")


def seven(turn: Turn) -> float:
    return 7


def test_a_golden_set_grows_without_a_score(tmp_path: Path) -> None:
    with opened(tmp_path) as ws:
        ws.intake.accept(
            [
                a_trace("good"),
                a_trace("refused", output="I can't help with that."),
                a_trace("broken", output="Error: 500"),
                a_trace("crashed", status=TraceStatus.FAILED),
            ]
        )
        ws.live.curate()
        assert tiers(ws, "good", "refused", "broken", "crashed") == {
            "good": "candidate",
            "refused": "none",
            "broken": "failure",
            "crashed": "failure",
        }
        assert ws.live.curation.backfill().by_kind == {}
        assert ws.live.checks.backfill().changed == 0


def test_a_question_asked_again_takes_the_first_answer_out(tmp_path: Path) -> None:
    def turn(number: int, said: str) -> Trace:
        return a_trace(f"t{number}", session_id="s", input=said, started_at=f"2026-01-01T10:0{number}:00Z")

    with opened(tmp_path) as ws:
        ws.intake.accept([turn(1, "When does the shop open?")])
        ws.live.curate()
        assert tiers(ws, "t1") == {"t1": "candidate"}
        ws.intake.accept([turn(2, "WHEN DOES THE SHOP OPEN")])
        ws.live.curate()
        assert tiers(ws, "t1") == {"t1": "none"} and values(ws, "t1")["not_repeated"] == 0.5


def test_a_person_outranks_a_check(tmp_path: Path) -> None:
    with opened(tmp_path) as ws:
        ws.intake.accept([a_trace("t1", output="I can't help with that.")])
        ws.intake.accept([ScoreLine(trace_id="t1", name="quality", value=1.0, source=ScoreSource.HUMAN)])
        ws.live.curate()
        assert tiers(ws, "t1") == {"t1": "confirmed"}


def test_a_check_that_fails_to_run_is_counted_and_gives_no_score(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        "\n".join(
            f'[[check]]\nname = "{name}"\nkind = "python"\nfunction = "tests.checks.test_stage:{name}"'
            for name in ("raises", "seven")
        )
    )
    with opened(tmp_path, checks_files=(str(file),)) as ws:
        ws.intake.accept([a_trace("t1")])
        ws.live.curate()
        assert "raises" not in values(ws, "t1") and "seven" not in values(ws, "t1")
        assert set(ws.live.checks.state()["errors"]) == {"raises", "seven"}  # type: ignore[call-overload]
        assert tiers(ws, "t1") == {"t1": "candidate"}


def test_a_failing_check_is_not_run_at_every_curate(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('[[check]]\nname = "raises"\nkind = "python"\nfunction = "tests.checks.test_stage:raises"')
    with opened(tmp_path, checks_files=(str(file),)) as ws:
        ws.intake.accept([a_trace("t1")])
        ws.live.curate()
        for value in (0.9, 1.0):
            ws.intake.accept([ScoreLine(trace_id="t1", name="app", value=value, key="app")])
            ws.live.curate()
        assert ws.live.checks.state()["errors"] == {"raises": 1}
        ws.live.checks.backfill()
        assert ws.live.checks.state()["errors"] == {"raises": 2}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[check]]\nname = "a"\nkind = "regex"\npattern = "("', "pattern"),
        ('[[check]]\nname = "a"\nkind = "judge"\njudge = "nobody"\nrubric = "x"', "nobody"),
        ('[[check]]\nname = "a"\nkind = "length"\nmax_char = 3', "max_char"),
        ('[[check]]\nname = "a"\nkind = "python"\nfunction = "no.such:thing"', "no.such:thing"),
        ("check = 3", "[[check]]"),
    ],
)
def test_a_wrong_check_file_is_one_line(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "own.toml"
    file.write_text(text)
    with opened(tmp_path, checks_files=(str(file),)) as ws, pytest.raises(BadInput) as problem:
        ws.live.curate()
    assert words in problem.value.message


def test_a_check_file_in_another_encoding_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_bytes('[[check]]\nname = "ñ"'.encode("latin-1"))
    with opened(tmp_path, checks_files=(str(file),)) as ws, pytest.raises(BadInput, match="UTF-8"):
        ws.live.curate()


def test_turning_checks_off_takes_their_scores_back(tmp_path: Path) -> None:
    with opened(tmp_path) as ws:
        ws.intake.accept([a_trace("t1")])
        ws.live.curate()
    with Workspace.open(Settings(home=tmp_path, checks_builtin="false")) as ws:
        ws.live.checks.backfill()
        ws.live.curate()
        assert values(ws, "t1") == {} and tiers(ws, "t1") == {"t1": "none"}


def test_a_day_gives_at_most_its_limit_spread_over_kinds_of_questions(tmp_path: Path) -> None:
    policy = tmp_path / "small.toml"
    policy.write_text('name = "default"\n[limit]\ncandidates_per_day = 5\n')
    often = [a_trace(f"a{n}", input=f"What does order number {n} cost in total?") for n in range(20)]
    same = [a_trace(f"b{n}", input="How do I return my broken toaster?") for n in range(10)]
    rare = [a_trace("c", input="Which vaccine do travellers need for Kenya?")]
    with opened(tmp_path, curation_policies=(str(policy),)) as ws:
        ws.intake.accept([*often, *same, *rare])
        ws.live.curate()
        assert ws.live.stats().candidate == 5
        assert tiers(ws, "c") == {"c": "candidate"}
        (would,) = ws.live.curation.dry_run().values()
        assert would.by_kind == ws.live.curation.backfill().by_kind == {}


def hangs(turn: Turn) -> float:
    threading.Event().wait()
    return 1.0


def test_a_check_that_hangs_costs_its_own_result_once(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(
        '[[check]]\nname = "hangs"\nkind = "python"\nfunction = "tests.checks.test_stage:hangs"\ntimeout_seconds = 0.05'
    )
    with opened(tmp_path, checks_files=(str(file),)) as ws:
        ws.intake.accept([a_trace("t1"), a_trace("t2", input="Where is Quito?")])
        ws.live.curate()
        assert ws.live.checks.state()["errors"] == {"hangs": 2}
        assert tiers(ws, "t1", "t2") == {"t1": "candidate", "t2": "candidate"}


def test_grounded_gives_a_judges_score_that_a_policy_leaves_out_by_default(tmp_path: Path) -> None:
    turn = Turn("t", "Where is Lima?", "Lima is in Norway.", contexts=("Lima is the capital of Peru.",))
    result = Grounded().check(turn)
    assert result is not None and result.value < 1.0 and "Norway" in result.evidence
    assert Grounded().source is ScoreSource.LLM_JUDGE
    assert Grounded().check(Turn("t", "Where is Lima?", "In Peru.")) is None
