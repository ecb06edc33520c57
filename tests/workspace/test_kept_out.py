"""What the overview says of traces that are not golden, and that numbers count what is."""

import json
from dataclasses import replace
from pathlib import Path

from evergold.curate.kept_out import CHANGE
from evergold.model.overview import Period
from evergold.model.policy import Policy, Reason, Remedy
from evergold.model.trace import ScoreLine
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter, iterate_cases
from evergold.store.verdict.tiers import TIER_OF
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace


def test_plain_traces_without_checks_say_what_to_turn_on(settings: Settings) -> None:
    with Workspace.open(settings) as ws:
        ws.intake.accept([a_trace("a"), a_trace("b")])
        ws.live.curate()
        found = ws.overviews.kept_out(Period.YEAR)
    assert (found.traces, found.golden, found.failure) == (2, 0, 0)
    (reason,) = found.reasons
    assert reason.traces == 2 and reason.reason == "no score that takes part"
    assert (reason.remedy, "turn the built-in checks on" in reason.change) == (Remedy.CHECKS, True)


def test_traces_from_before_the_checks_came_on_are_to_be_checked_now(settings: Settings) -> None:
    with Workspace.open(settings) as ws:
        ws.intake.accept([a_trace("a")])
        ws.live.curate()
    with Workspace.open(replace(settings, checks_builtin="true")) as ws:
        (reason,) = ws.overviews.kept_out(Period.YEAR).reasons
        assert (reason.code, reason.remedy) == ("no_scores", Remedy.CHECK_NOW)
        ws.live.curate()
        assert ws.live.kept_out("").candidate == 1


def test_every_trace_is_counted_once_by_what_keeps_it_out(settings: Settings, tmp_path: Path) -> None:
    policy = tmp_path / "small.toml"
    policy.write_text('name = "default"\n[limit]\ncandidates_per_day = 1\n')
    on = replace(settings, checks_builtin="true", curation_policies=(str(policy),))
    with Workspace.open(on) as ws:
        ws.intake.accept(
            [a_trace("a"), a_trace("b", input="How tall is K2?"), a_trace("r", output="I can't help with that.")]
        )
        ws.intake.accept([a_trace("e", output="Error: 500")])
        ws.live.curate()
        found = ws.overviews.kept_out(Period.YEAR)
    assert (found.traces, found.candidate, found.failure) == (4, 1, 1)
    reasons = {each.reason: each for each in found.reasons}
    assert sum(each.traces for each in found.reasons) == 2
    assert reasons["a system score lies between 0.3 and 0.8"].scores == {"answered": 1}
    limited = next(each for name, each in reasons.items() if "limit.candidates_per_day" in name)
    assert (limited.remedy, limited.change) == (Remedy.LIMIT, "change how many candidates a day may have")


def test_only_scores_of_traces_that_they_keep_out_are_counted(settings: Settings) -> None:
    with Workspace.open(settings) as ws:
        ws.intake.accept([a_trace("kept-out"), a_trace("failed")])
        scores = {"kept-out": {"style": 0.5, "form": 0.9}, "failed": {"style": 0.5, "form": 0.0}}
        ws.intake.accept(
            [ScoreLine(trace_id=id, name=name, value=value) for id in scores for name, value in scores[id].items()]
        )
        (reason,) = ws.live.kept_out("").reasons
    assert (reason.code, reason.traces, reason.scores) == ("system_between", 1, {"style": 1})


def test_every_reason_that_keeps_a_trace_out_has_something_that_changes_it() -> None:
    assert CHANGE.keys() == set(Reason) - TIER_OF.keys()
    assert not [change for _, change in CHANGE.values() if "evergold" in change or "--" in change]


def test_a_trace_is_curated_once_however_many_policies_and_visits(settings: Settings) -> None:
    with Workspace.open(settings) as ws:
        ws.intake.accept([a_trace("g", scores=(a_score(),)), a_trace("f", scores=(a_score(value=0.0),))])
        both = ws.live.use_policies([Policy(), Policy(name="other", dataset="other")])
        assert both.backfill().traces == 2
        assert both.backfill().traces == 2
        ws.live.curate()
        stats = ws.live.stats()
    assert (stats.traces, stats.curated_traces, stats.waiting) == (2, 2, 0)
    assert (stats.unconfirmed, stats.failure) == (1, 1)


def test_a_trace_that_a_remark_brings_back_is_counted_once(settings: Settings) -> None:
    turns = [
        ("When do you open?", "We open at nine."),
        ("No, that is wrong, you open at ten.", "You are right, we open at ten."),
        ("Thanks!", "You are welcome."),
    ]
    traces = [
        a_trace(f"t{at}", input=asked, output=answered, session_id="s", started_at=f"2026-01-05T10:0{at}:00Z")
        for at, (asked, answered) in enumerate(turns)
    ]
    with Workspace.open(settings) as ws:
        for trace in traces:
            ws.intake.accept([trace])
        changes = ws.live.curate()
        assert (changes.traces, changes.by_kind["corrected"], ws.live.count_waiting()) == (3, 1, 0)
        assert ws.live.curate().traces == 0
        ws.intake.accept([ScoreLine(trace_id="t0", name="late", value=1.0)])
        assert ws.live.curate().traces == 1


def test_one_by_one_a_trace_is_also_counted_once(settings: Settings) -> None:
    asked = ("When do you open?", "No, that is wrong, you open at ten.")
    with Workspace.open(settings) as ws:
        for at, text in enumerate(asked):
            moment = f"2026-01-05T10:0{at}:00Z"
            ws.intake.accept([a_trace(f"t{at}", input=text, output="At nine.", session_id="s", started_at=moment)])
        counted, taken = [], 1
        while taken:
            taken, changes = ws.live.step(1)
            counted.append(changes.traces)
    assert (sum(counted), len(counted)) == (2, 3)


def test_failures_and_corrections_are_no_candidates(settings: Settings) -> None:
    with Workspace.open(settings) as ws:
        ws.intake.accept([a_trace("g", scores=(a_score(),)), a_trace("f", scores=(a_score(value=0.0),))])
        ws.live.curate()
        with ws.store.db.read() as connection:
            found = list(iterate_cases(connection, CaseFilter(confirmed=False)))
    assert [case.provenance.trace_id for case in found] == ["g"]
    assert json.loads(found[0].model_dump_json())["entry_type"] == "golden"
