"""Rules of curation changed by people: previewed without a trace of it, saved, held by settings, and taken back."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from evergold.errors import BadInput, Conflict, Refused
from evergold.model.case import Candidates
from evergold.model.policy import CurationRules, Limit, NewRules, Policy, Thresholds
from evergold.model.review import CaseKey, Decision, ReviewVerdict
from evergold.model.trace import Trace
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter, iterate_cases
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace

QUESTIONS = ("How tall is K2?", "Who wrote Solaris?", "When does the museum open?", "Where can I park a bicycle?")


def plain_traces() -> list[Trace]:
    answered = [
        a_trace(f"t{at}", input=question, output="It says so in the guide.", started_at="2026-01-05T10:00:00Z")
        for at, question in enumerate(QUESTIONS)
    ]
    refused = a_trace("refused", output="I'm sorry, but I can't help with that.", started_at="2026-01-05T11:00:00Z")
    return [*answered, refused]


@pytest.fixture
def ws(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as workspace:
        workspace.intake.accept(plain_traces())
        workspace.live.curate()
        yield workspace


def rules(*, on: bool = True, off: tuple[str, ...] = (), **policy: object) -> CurationRules:
    return CurationRules(policy=Policy.model_validate(policy), checks_on=on, checks_off=off)


def save(ws: Workspace, chosen: CurationRules, why: str = "") -> None:
    ws.rules.save(NewRules(rules=chosen, base=ws.rules.view().number, why=why), "ana")
    ws.live.curate()


def golden(ws: Workspace) -> int:
    return ws.live.stats().golden + ws.live.stats().candidate


@pytest.mark.parametrize(
    "proposed",
    [
        rules(),
        rules(limit=Limit(candidates_per_day=2)),
        rules(thresholds=Thresholds(golden_from=0.5)),
        rules(off=("answered",)),
        rules(fallback_texts=("It says so*",)),
        rules(on=False),
    ],
    ids=["checks on", "limit", "threshold", "check off", "fallback", "nothing"],
)
def test_a_preview_says_what_saving_does_and_changes_nothing(ws: Workspace, proposed: CurationRules) -> None:
    for start in (rules(on=False), rules(limit=Limit(candidates_per_day=1)), rules(off=("answered",))):
        save(ws, start)
        before = golden(ws)
        preview = ws.rules.preview(proposed)
        ws.live.curate()
        assert (preview.traces, preview.golden_now + preview.candidate_now, golden(ws)) == (5, before, before)
        save(ws, proposed)
        assert golden(ws) == preview.golden_then + preview.candidate_then
        for each in preview.reasons:
            kept = {one.reason: one.traces for one in ws.live.kept_out("").reasons}
            assert kept.get(each.reason, 0) == each.then or each.then == 0


@pytest.mark.parametrize("by_hand", [False, True])
def test_rules_that_are_saved_while_curation_waits_for_the_database_judge_the_traces(
    ws: Workspace, by_hand: bool
) -> None:
    began_before = ws.live.curation
    ws.rules.save(NewRules(rules=rules(), base=0), "ana")
    changes = began_before.drain() if by_hand else began_before.step()[1]
    assert (changes.total, ws.live.count_waiting(), golden(ws)) == (0, 5, 0)
    ws.live.step(limit=10)
    assert (ws.live.count_waiting(), golden(ws)) == (0, 4)


def test_turning_the_checks_on_makes_plain_traces_golden_and_going_back_takes_them_away(ws: Workspace) -> None:
    began = ws.rules.view()
    assert (began.number, began.rules.checks_on, golden(ws)) == (0, False, 0)
    save(ws, rules(), "we send no scores")
    assert golden(ws) == 4
    view = ws.rules.view()
    assert (view.number, view.rules.checks_on, view.history[0].who, view.history[0].why) == (
        1,
        True,
        "ana",
        "we send no scores",
    )
    ws.intake.accept([a_trace("later", input="What is a fjord?", output="A narrow arm of the sea.")])
    ws.live.curate()
    assert golden(ws) == 5
    save(ws, view.history[-1].rules)
    assert golden(ws) == 0 and ws.rules.view().number == 2
    assert [score for trace in plain_traces() for score in ws.intake.get(trace.id).scores] == []


def test_a_saved_limit_holds_for_history_and_for_other_processes(ws: Workspace, settings: Settings) -> None:
    save(ws, rules(limit=Limit(candidates_per_day=1)))
    assert golden(ws) == 1
    with Workspace.open(settings) as other:
        other.rules.save(NewRules(rules=rules(limit=Limit(candidates_per_day=3)), base=1), "bo")
    ws.live.curate()
    assert golden(ws) == 3 and ws.live.policies()[-1].in_force


def test_what_a_person_decided_stands_through_changes_of_the_rules(ws: Workspace) -> None:
    save(ws, rules())
    with ws.store.db.read() as connection:
        cases = list(iterate_cases(connection, CaseFilter(dataset="live", candidates=Candidates.ONLY)))
    kept = next(case for case in cases if case.provenance.trace_id == "t0")
    decision = Decision(version=kept.version, verdict=ReviewVerdict.APPROVE)
    ws.review.decide(CaseKey(dataset="live", id=kept.id), decision, "ana")
    for chosen in (rules(on=False), rules(limit=Limit(candidates_per_day=0)), rules(fallback_texts=("It says*",))):
        save(ws, chosen)
        assert (golden(ws), ws.cases.get("live", kept.id).review.value) == (1, "validated")


def test_two_people_who_save_at_once_do_not_overwrite_each_other(ws: Workspace) -> None:
    ws.rules.save(NewRules(rules=rules(), base=0), "ana")
    with pytest.raises(Conflict, match="changed meanwhile"):
        ws.rules.save(NewRules(rules=rules(on=False), base=0), "bo")
    assert ws.rules.view().rules.checks_on


def test_what_the_settings_hold_is_shown_and_refused(settings: Settings, tmp_path: Path) -> None:
    file = tmp_path / "default.toml"
    file.write_text('name = "default"\n[limit]\ncandidates_per_day = 7\n')
    held = replace(settings, curation_policies=(str(file),), checks_builtin="false", checks_off=("grounded",))
    with Workspace.open(held) as ws:
        view = ws.rules.view()
        assert (view.policy_set_by, view.checks_set_by) == (str(file), "the settings")
        assert view.rules.policy.limit.candidates_per_day == 7
        assert {each.name for each in view.checks if each.held_off_by} == {"grounded"}
        with pytest.raises(Refused, match=r"default\.toml; change that file"):
            ws.rules.save(NewRules(rules=view.rules.model_copy(update={"policy": Policy()})), "ana")
        with pytest.raises(Refused, match=r"checks\.builtin"):
            ws.rules.preview(view.rules.model_copy(update={"checks_on": True}))


def test_names_that_nothing_answers_to_are_refused(ws: Workspace) -> None:
    with pytest.raises(BadInput, match=r"unknown check 'answerd'.*answered"):
        ws.rules.preview(rules(off=("answerd",)))
    with pytest.raises(BadInput, match="tag extractor"):
        ws.rules.preview(rules(tags=("nothing",)))
    with pytest.raises(ValueError, match="needs a file of its own"):
        rules(name="other")


def test_scores_of_the_app_are_never_limited_by_a_preview(ws: Workspace) -> None:
    ws.intake.accept([a_trace("own", input="What is a gorge?", scores=(a_score(),))])
    ws.live.curate()
    assert ws.rules.preview(rules(limit=Limit(candidates_per_day=0))).golden_then == 1
