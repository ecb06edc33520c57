"""What would change a verdict is predicted by the real rule: every prediction comes true once the change is made."""

import random
from dataclasses import replace

import pytest

from evergold.model.case import Candidates, Case
from evergold.model.policy import Counterfactual
from evergold.model.trace import Correction, ScoreLine, Trace
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace

QUESTIONS = ("When does the shop in Lima open?", "How long do parcels take?", "Which coat is cheaper?", "Who signs it?")
ANSWERS = ("It opens at nine on weekdays.", "They take three days.", "", "Sorry, I cannot help with that.", '{"a": 1}')
REMARKS = ("No, it opens at ten.", "that worked, thanks", "No, it is wrong", "And on Sundays?")


def random_trace(number: int, chance: random.Random) -> Trace:
    """A trace with any scores, sometimes a turn of a session whose message speaks of the answer before it."""
    sources = ("system", "user", "human", "llm_judge")
    values = (0.0, 0.2, 0.3, 0.5, 0.8, 1.0)
    scores = {
        name: a_score(name, chance.choice(values), chance.choice(sources))
        for name in chance.sample(("reward", "thumb", "noise", "style"), chance.choice((0, 0, 1, 1, 2, 3)))
    }
    return a_trace(
        f"t{number:03}",
        session_id=f"s{number // 2}" if chance.random() < 0.5 else None,
        input=chance.choice(REMARKS if number % 2 else QUESTIONS) + ("" if number % 2 else f" ({number})"),
        output=chance.choice(ANSWERS[:2] * 3 + ANSWERS),
        status=chance.choice(("completed",) * 8 + ("failed",)),
        started_at=f"2026-07-01T10:{number // 60:02}:{number % 60:02}Z",
        scores=tuple(scores.values()),
    )


def make(ws: Workspace, trace_id: str, told: Counterfactual) -> None:
    change = told.change
    if change.action == "withdraw":
        ws.live.unscore(change.score_id or 0)
    else:
        ws.intake.accept([ScoreLine(trace_id=trace_id, name=change.name, value=change.value, source=change.source)])


@pytest.mark.parametrize(("limit", "at_once"), [(200, True), (3, False)])
def test_every_prediction_comes_true(settings: Settings, limit: int, at_once: bool) -> None:
    policy = settings.home.parent / "policy.toml"
    policy.write_text(f'ignore = ["noise"]\n[limit]\ncandidates_per_day = {limit}\n')
    checked = replace(settings, checks_builtin="true", checks_off=("grounded",), curation_policies=(str(policy),))
    chance, kept, kinds = random.Random(f"{limit}"), 0, set()
    with Workspace.open(checked) as ws:
        ws.intake.accept([random_trace(number, chance) for number in range(60)])
        ws.live.curate()
        for _ in range(3 if at_once else 25):
            predicted: dict[str, Counterfactual] = {}
            for number in range(60) if at_once else chance.sample(range(60), 4):
                (told,) = ws.live.explain(f"t{number:03}")
                if told.counterfactuals and (at_once or not predicted):
                    predicted[told.trace_id] = chance.choice(told.counterfactuals)
            for trace_id, one in predicted.items():
                make(ws, trace_id, one)
                kinds.add((one.change.action, one.result))
            ws.live.curate()
            entries = {case.provenance.trace_id: case.tier for case in listed(ws)}
            for trace_id, one in predicted.items():
                assert ws.live.explain(trace_id)[0].tier == one.result, (trace_id, one)
                assert entries.get(trace_id, "none") == one.result, (trace_id, one)
            kept += len(predicted)
    assert kept >= (120 if at_once else 15) and len(kinds) >= 5


def random_policy(chance: random.Random) -> str:
    """A policy with any keys that decide tiers."""
    tables = {
        'name = "policy"': [
            f'llm_judge = "{chance.choice(("system", "ignored"))}"',
            chance.choice(('outcome = ["reward"]', 'outcome = ["style", "reward"]', "")),
            chance.choice(('ignore = ["noise"]', 'fallback_texts = ["It opens*"]', "checks = []")),
        ],
        "[thresholds]": [f"failure_below = {chance.choice((0.3, 0.5))}", f"golden_from = {chance.choice((0.8, 1.0))}"],
        "[limit]": [f"candidates_per_day = {chance.choice((0, 3, 200))}"],
        "[sample]": [f"{tier} = {chance.choice((1.0, 0.5))}" for tier in ("failure", "unconfirmed", "confirmed")],
        "[eligible]": [f"min_input_chars = {chance.choice((0, 22))}"],
    }
    return "\n".join(line for table, lines in tables.items() for line in (table, *lines)) + "\n"


@pytest.mark.parametrize("seed", range(3))
def test_every_prediction_comes_true_under_any_policy_and_an_added_score_is_taken_back_whole(
    settings: Settings, seed: int
) -> None:
    chance, number = random.Random(seed), 14
    (policy := settings.home.parent / "policy.toml").write_text(random_policy(chance))
    checked = replace(settings, checks_builtin="true", checks_off=("grounded",), curation_policies=(str(policy),))
    with Workspace.open(checked) as ws:
        traces = [random_trace(one, chance) for one in range(number)]
        observed = traces[-1].model_copy(update={"input": "Observation: a wall", "session_id": None})
        ws.intake.accept([*traces[:-1], observed, Correction(trace_id="t000", text="It opens at ten.", author="ana")])
        ws.live.curate()
        for trace in traces:
            (explained,) = (one for one in ws.live.explain(trace.id) if one.policy.startswith("policy@"))
            for told in sorted(explained.counterfactuals, key=lambda one: one.change.action):
                before = tiers(ws)
                make(ws, trace.id, told)
                ws.live.curate()
                assert tiers(ws).get(trace.id, "none") == told.result, (explained, told)
                if told.change.action == "withdraw":
                    break
                (added,) = (one for one in ws.intake.get(trace.id).scores if one.name == told.change.name)
                ws.live.unscore(added.id or 0)
                ws.live.curate()
                assert tiers(ws) == before, (trace, told)


def tiers(ws: Workspace) -> dict[str | None, str]:
    wanted = CaseFilter(policy="policy", candidates=Candidates.INCLUDE)
    return {
        case.provenance.trace_id: case.tier
        for case in ws.cases.iterate(wanted)
        if case.entry_type.value != "correction"
    }


def listed(ws: Workspace) -> list[Case]:
    return list(ws.cases.iterate(CaseFilter(policy="default", candidates=Candidates.INCLUDE)))


def test_taking_a_remark_back_takes_its_pair_back_too(settings: Settings) -> None:
    turns = [
        a_trace(f"t{n}", session_id="s", input=asked, output=answered, started_at=f"2026-07-01T10:0{n}:00Z")
        for n, (asked, answered) in enumerate([
            ("When does the shop in Lima open?", "It opens at nine."),
            ("No, it opens at ten.", "You are right, it opens at ten."),
        ])
    ]  # fmt: skip
    with Workspace.open(replace(settings, checks_builtin="true", checks_off=("grounded",))) as ws:
        ws.intake.accept(turns)
        ws.live.curate()
        assert {case.entry_type.value for case in ws.cases.iterate(CaseFilter())} == {"failure", "correction"}
        (remark,) = (score for score in ws.intake.get("t0").scores if score.source == "user")
        ws.live.unscore(remark.id or 0)
        assert [case.entry_type.value for case in ws.cases.iterate(CaseFilter(entry_type="correction"))] == []
        ws.live.curate()
        assert {case.tier for case in ws.cases.iterate(CaseFilter(candidates=Candidates.INCLUDE))} == {"candidate"}
