"""The living dataset end to end, on both databases: queue, corrections, detection, undo, statistics, forgetting."""

import json
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from evergold.curate import queued
from evergold.errors import BadInput, NotFound
from evergold.model.case import Case, CaseStatus
from evergold.model.policy import Policy, Sampling, Thresholds
from evergold.model.trace import Correction, Reaction, ScoreLine, ScoreSource, Trace
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.store.case.writes import Author
from evergold.store.schema import metadata
from evergold.store.trace.filter import TraceFilter
from evergold.store.trace.retention import PruneKey, prune_batch
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace

GOOD = (a_score("check", 0.9),)


@pytest.fixture
def ws(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as opened:
        yield opened


def cases(ws: Workspace, **filters: Any) -> list[Case]:
    return ws.cases.page(CaseFilter(**filters), limit=500)[0]


def types(ws: Workspace, trace_id: str = "t1") -> list[str]:
    return sorted(case.entry_type for case in cases(ws, trace_id=trace_id))


def user_score(trace_id: str, value: float, key: str = "thumbs") -> ScoreLine:
    return ScoreLine(trace_id=trace_id, name="thumbs", value=value, source=ScoreSource.USER, key=key)


def test_what_waits_is_curated_once(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD), a_trace("t2", scores=(a_score(value=0.1),)), a_trace("t3")])
    assert ws.live.curate().by_kind == {"added": 2}
    assert ws.live.curate().traces == 0
    assert (types(ws, "t1"), types(ws, "t2"), types(ws, "t3")) == (["golden"], ["failure"], [])


def test_curation_ends_although_traces_come_without_end(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queued, "BATCH", 10)
    ws.intake.accept([a_trace("t1", scores=GOOD), a_trace("t2", scores=GOOD)])
    curation, seen = ws.live.curation, list[str]()
    first_visits = curation._first_visits

    def visit_and_bring(waiting: Sequence[str]) -> int:
        """What a server beside this process does: after each step another trace comes."""
        seen.extend(waiting)
        assert len(seen) < 100, "curation goes on for as long as traces come"
        ws.intake.accept([a_trace(f"later-{len(seen)}", scores=GOOD)])
        return first_visits(waiting)

    monkeypatch.setattr(curation, "_first_visits", visit_and_bring)
    curation.drain()
    assert {"t1", "t2", "later-2"} <= set(seen)


def test_a_late_score_changes_the_entry_in_place(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD)])
    ws.live.curate()
    ws.intake.accept([user_score("t1", 1.0)])
    assert ws.live.curate().by_kind == {"confirmed": 1}
    ws.intake.accept([user_score("t1", 0.0)])
    assert ws.live.curate().by_kind == {"failed": 1}
    (entry,) = cases(ws, trace_id="t1")
    assert [told.action for told in ws.cases.history("live", entry.id)] == ["added", "confirmed", "failed"]


def test_an_entry_follows_a_reaction_that_changes_and_goes(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD)])
    ws.live.curate()
    steps: list[tuple[str | None, dict[str, int]]] = [
        ("👍🏽", {"confirmed": 1}),
        ("👎", {"failed": 1}),
        (None, {"recovered": 1}),
        ("😮", {"withdrawn": 1}),
        ("❤️", {"restored": 1}),
    ]
    for emoji, change in steps:
        ws.intake.accept([Reaction(trace_id="t1", emoji=emoji, author="ana")])
        assert ws.live.curate().by_kind == change
    assert len(ws.intake.get("t1").scores) == 2


def test_a_correction_is_a_pair_and_the_golden_entry_fails(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD)])
    ws.live.curate()
    for _ in range(2):
        ws.intake.accept([Correction(trace_id="t1", text="It is Quito.")])
        ws.live.curate()
    assert types(ws) == ["correction", "failure"]
    (pair,) = cases(ws, entry_type="correction")
    assert (pair.input, pair.output, pair.expected) == ("What is the capital of Peru?", "Lima.", "It is Quito.")
    ws.intake.accept([user_score("t1", 1.0)])
    ws.live.curate()
    assert types(ws) == ["correction", "failure"]


def test_a_correction_alone_makes_only_its_pair(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1"), Correction(trace_id="t1", text="Quito.")])
    ws.live.curate()
    assert types(ws) == ["correction"]


OWNED = "I apologize for the mistake: it is Quito."


def reply_to(said: str) -> dict[str, str]:
    """The assistant owns up to what is called wrong, without which a remark makes no failure."""
    return {"output": OWNED} if "wrong" in said else {}


@pytest.mark.parametrize(
    ("message", "found"),
    [
        ("No, that's wrong. It is Quito.", ["correction", "failure"]),
        ("are you sure?", []),
        ("thanks! and of Chile?", ["golden"]),
        ("no está mal, gracias", ["golden"]),
    ],
)
@pytest.mark.parametrize("late_first", [False, True])
def test_the_next_message_of_a_session_may_correct_the_reply(
    ws: Workspace, message: str, found: list[str], late_first: bool
) -> None:
    reply = a_trace("t1", session_id="s", started_at="2026-01-01T10:00:00Z", scores=GOOD)
    after = a_trace("t2", session_id="s", started_at="2026-01-01T10:01:00Z", input=message, **reply_to(message))
    other = a_trace("t3", session_id="z", started_at="2026-01-01T10:00:30Z", input="No, that's wrong.")
    for trace in (after, other, reply) if late_first else (reply, other, after):
        ws.intake.accept([trace])
        ws.live.curate()
    assert types(ws) == found


def test_undo_takes_back_what_a_revision_did(ws: Workspace) -> None:
    ws.intake.accept([a_trace(f"t{n}", scores=GOOD) for n in range(3)])
    ws.live.curate()
    lax = ws.live.use_policies([Policy(thresholds=Thresholds(golden_from=0.95))])
    assert lax.backfill().by_kind == {"withdrawn": 3}
    assert ws.live.undo(lax.policies[0].label).undone == 3
    assert len(cases(ws, dataset="live")) == 3
    first = ws.live.curation.policies[0].label
    ws.cases.tag("live", "default:t0", add=["vip"], who="ana")
    done = ws.live.undo(first[:16])
    assert (done.policy, done.undone, done.left) == (first, 2, 1)
    again = ws.live.undo(first)
    assert (again.undone, again.left, len(cases(ws, dataset="live"))) == (0, 1, 1)


def test_undo_of_the_only_revision_withdraws_everything(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD), a_trace("t2", scores=(a_score(value=0.0),))])
    ws.live.curate()
    ws.intake.accept([user_score("t1", 1.0)])
    ws.live.curate()
    assert ws.live.undo(ws.live.curation.policies[0].label).undone == 2
    assert cases(ws, dataset="live") == []
    (entry,) = cases(ws, trace_id="t1", status=CaseStatus.WITHDRAWN)
    assert [told.action for told in ws.cases.history("live", entry.id)] == ["added", "confirmed", "undone"]
    with pytest.raises(NotFound, match="unknown policy revision 'default@zzz'"):
        ws.live.undo("default@zzz")
    with pytest.raises(BadInput, match="write POLICY@REV"):
        ws.live.undo("default")


def test_a_dry_run_tells_and_changes_nothing(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD)])
    (told,) = ws.live.curation.dry_run().values()
    assert (told.by_kind, told.examples) == ({"added": 1}, {"added": ["t1"]})
    assert cases(ws) == []


def test_undo_gives_back_the_inclusion_probability_and_the_revision(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD)])
    ws.live.curate()
    (before,) = cases(ws, trace_id="t1")
    ws.intake.accept([user_score("t1", 1.0)])
    other = ws.live.use_policies([Policy(sample=Sampling(confirmed=0.999))])
    assert other.drain().by_kind == {"confirmed": 1}
    (between,) = cases(ws, trace_id="t1")
    assert between.provenance.inclusion_probability == 0.999
    assert ws.live.undo(other.policies[0].label).undone == 1
    (after,) = cases(ws, trace_id="t1")
    assert after.provenance == before.provenance and after.metadata == before.metadata == {"confirmed": False}


def test_a_policy_named_for_one_call_takes_nothing_from_those_in_force(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD)])
    other = ws.live.use_policies([Policy(name="other", dataset="aside")])
    assert (other.drain().by_kind, other.drain().by_kind) == ({"added": 1}, {})
    assert ws.live.curate().by_kind == {"added": 1}
    assert sorted(case.dataset for case in cases(ws, trace_id="t1")) == ["aside", "live"]


def test_entries_follow_a_new_revision_of_their_policy_and_go_back(ws: Workspace) -> None:
    ws.intake.accept([a_trace(f"t{n}", scores=GOOD, metadata={"model": "m1"}) for n in range(20)])
    old = ws.live.use_policies([Policy(name="p", dataset="one", tags=())])
    old.backfill()
    held = {case.id: case.provenance for case in cases(ws, dataset="one")}
    new = ws.live.use_policies([Policy(name="p", dataset='two "2"', tags=("model",), sample=Sampling(unconfirmed=0.5))])
    told = new.dry_run()["p@" + new.policies[0].rev[7:19]]
    done = new.backfill()
    assert done.by_kind == told.by_kind and set(done.by_kind) == {"moved", "withdrawn"}
    assert new.backfill().by_kind == {}
    kept = cases(ws, dataset='two "2"')
    assert len(kept) == done.by_kind["moved"]
    assert {(case.tags, case.provenance.inclusion_probability) for case in kept} == {(("model:m1",), 0.5)}
    thinner = ws.live.use_policies(
        [Policy(name="p", dataset='two "2"', tags=("model",), sample=Sampling(unconfirmed=0.4))]
    )
    assert thinner.backfill().by_kind.get("reweighed") == len(cases(ws, dataset='two "2"'))
    tagless = Policy(name="p", dataset='two "2"', tags=("model", "message_type"), sample=Sampling(unconfirmed=0.4))
    assert ws.live.use_policies([tagless]).backfill().by_kind == {}
    for curation in (thinner, new):
        ws.live.undo(curation.policies[0].label)
    assert {case.id: case.provenance for case in cases(ws, dataset="one")} == held


def test_a_tag_kind_added_to_a_policy_reaches_the_entries_there_are(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD, metadata={"model": "m1"})])
    ws.live.use_policies([Policy(name="p", tags=())]).backfill()
    tagging = ws.live.use_policies([Policy(name="p", tags=("model",))])
    assert tagging.backfill().by_kind == {"retagged": 1}
    (entry,) = cases(ws, policy="p")
    assert entry.tags == ("model:m1",)
    ws.cases.tag(entry.dataset, entry.id, remove=["model:m1"], who="ana")
    assert tagging.backfill().by_kind == {}


def test_undoing_a_failure_takes_its_tags_back(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD)])
    ws.live.curate()
    strict = ws.live.use_policies([Policy(thresholds=Thresholds(failure_below=0.95, golden_from=0.95))])
    assert strict.backfill().by_kind == {"failed": 1}
    assert cases(ws, trace_id="t1")[0].tags == ("failed:check",)
    ws.live.undo(strict.policies[0].label)
    (entry,) = cases(ws, trace_id="t1")
    assert (entry.entry_type, entry.tags) == ("golden", ())


def test_a_correction_is_one_case_whoever_edits_it_and_under_whichever_policy(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1"), Correction(trace_id="t1", text="Lima")])
    ws.live.curate()
    (pair,) = cases(ws, trace_id="t1")
    ws.cases.revise(pair.model_copy(update={"expected": "Lima, Peru"}), Author(who="ana", action="edited"))
    ws.intake.accept([user_score("t1", 1.0)])
    other = ws.live.use_policies([Policy(name="other", dataset="aside")])
    assert [told.by_kind for told in other.dry_run().values()] == [{}]
    assert other.backfill().by_kind == {}
    assert [case.expected for case in cases(ws, trace_id="t1")] == ["Lima, Peru"]


def test_what_would_change_the_verdict_on_a_corrected_trace_is_true(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1"), Correction(trace_id="t1", text="Lima")])
    (told,) = ws.live.explain("t1")
    assert {one.when: one.result.value for one in told.counterfactuals} == {
        "a human score of 0 came": "failure",
        "a user score of 0 came": "failure",
        "a system score of 1 came": "failure",
        "a system score of 0 came": "failure",
    }
    ws.intake.accept([ScoreLine(trace_id="t1", name="check", value=0.9)])
    ws.live.curate()
    assert types(ws) == ["correction", "failure"]


def a_turn(number: int, said: str) -> Trace:
    at = f"2026-01-01T10:0{number}:00Z"
    return a_trace(f"t{number}", session_id="s", started_at=at, input=said, scores=GOOD, **reply_to(said))


def test_a_turn_that_comes_late_takes_the_correction_to_itself(ws: Workspace) -> None:
    ws.intake.accept([a_turn(1, "Capital of Peru?")])
    ws.intake.accept([a_turn(3, "No, that's wrong, it is Quito.")])
    ws.live.curate()
    assert types(ws, "t1") == ["correction", "failure"]
    ws.intake.accept([a_turn(2, "And of Ecuador?")])
    told = ws.live.curation.dry_run()
    assert ws.live.curate().by_kind == next(iter(told.values())).by_kind == {"added": 1, "recovered": 1, "corrected": 1}
    assert (types(ws, "t1"), types(ws, "t2"), types(ws, "t3")) == (["golden"], ["correction", "failure"], ["golden"])
    (gone,) = cases(ws, trace_id="t1", entry_type="correction", status=CaseStatus.WITHDRAWN)
    assert (
        ws.cases.history("live", gone.id)[-1].why == "what was taken for a correction of this reply was said of another"
    )
    assert ws.live.curation.backfill().by_kind == {}


def test_what_was_found_outlives_the_message_it_was_found_in(ws: Workspace) -> None:
    ws.intake.accept([a_turn(1, "Capital of Peru?"), a_turn(2, "No, that's wrong, it is Quito."), a_turn(3, "Thanks.")])
    ws.live.curate()
    ws.store.db.write(lambda c: c.execute(text("DELETE FROM eval_dataset WHERE trace_id = 't2'")))
    ws.store.db.write(lambda c: c.execute(text("DELETE FROM traces WHERE id = 't2'")))
    ws.live.curation.backfill()
    assert types(ws, "t1") == ["correction", "failure"]


def test_a_dry_run_tells_of_corrections_it_would_detect(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", session_id="s", started_at="2026-01-01T10:00:00Z", scores=GOOD)])
    ws.live.curate()
    said = {"input": "No, that's wrong, it is Quito.", "output": OWNED}
    ws.intake.accept([a_trace("t2", session_id="s", started_at="2026-01-01T10:01:00Z", **said)])
    before = everything(ws)
    (told,) = ws.live.curation.dry_run().values()
    assert (told.traces, told.by_kind) == (2, {"failed": 1, "corrected": 1})
    assert everything(ws) == before
    assert ws.live.curate().by_kind == told.by_kind
    (nothing,) = ws.live.curation.dry_run().values()
    assert nothing.by_kind == {}


def everything(ws: Workspace) -> list[Any]:
    tables = (
        "trace_scores",
        "trace_corrections",
        "curation_queue",
        "eval_dataset",
        "eval_dataset_tags",
        "case_revisions",
    )
    with ws.store.db.read() as connection:
        return [connection.execute(text(f"SELECT * FROM {table} ORDER BY 1, 2")).all() for table in tables]


def test_statistics_count_by_type_tag_and_day(ws: Workspace) -> None:
    ws.intake.accept(
        [
            a_trace("t1", scores=GOOD, metadata={"model": "m1"}, started_at="2026-01-01T00:00:00Z"),
            a_trace("t2", scores=(*GOOD, a_score("thumbs", 1.0, "user")), started_at="2026-01-02T00:00:00Z"),
            a_trace("t3", scores=(a_score("pii", 0.0),), started_at="2026-01-02T00:00:00Z"),
            a_trace("t4", started_at="2026-01-02T00:00:00Z"),
            Correction(trace_id="t3", text="Say nothing."),
        ]
    )
    ws.live.curate()
    stats = ws.live.stats()
    assert (stats.total, stats.golden, stats.failure, stats.correction) == (4, 2, 1, 1)
    assert (stats.confirmed, stats.unconfirmed, stats.candidate, stats.waiting) == (1, 1, 0, 0)
    assert stats.tags == {"failed:pii": 1, "model:m1": 1}
    assert stats.failing_checks == {"pii": 1}
    assert {day.day: day.traces for day in stats.days if day.traces} == {"2026-01-01": 1, "2026-01-02": 3}
    assert sum(day.golden for day in stats.days) == 2
    assert stats.coverage == 0.75


def test_a_failing_check_is_counted_beside_however_many_tags(ws: Workspace) -> None:
    many = [a_trace(f"t{n}", scores=GOOD, tags=tuple(f"tag{k}" for k in range(60))) for n in range(2)]
    ws.intake.accept([*many, a_trace("bad", scores=(a_score("pii", 0.0),))])
    ws.live.curate()
    assert ws.live.stats().failing_checks == {"pii": 1}


def test_statistics_of_nothing_are_not_zero_coverage(ws: Workspace) -> None:
    assert ws.live.stats().coverage is None


def test_an_export_is_filtered_then_limited_newest_first_and_whole(ws: Workspace, tmp_path: Path) -> None:
    for number in range(4):
        scores = GOOD if number % 2 else (*GOOD, a_score("thumbs", 1.0, "user"))
        ws.intake.accept([a_trace(f"t{number}", scores=scores, metadata={"model": f"m{number % 2}"})])
        ws.live.curate()
    ws.intake.accept([a_trace("bad", scores=(a_score(value=0.0),))])
    ws.live.curate()
    out = tmp_path / "out.jsonl"

    def exported(**chosen: Any) -> list[str]:
        count = ws.dataset.export_to_jsonl(out, **chosen)
        lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
        assert count == len(lines)
        keys = [
            "case_id",
            "correction_text",
            "created_at",
            "entry_type",
            "evidence",
            "expected_output",
            "id",
            "input",
            "metadata",
            "output",
            "reference",
            "reference_from",
            "tags",
            "trace_id",
        ]
        assert all(sorted(line) == keys for line in lines)
        return [line["trace_id"] for line in lines]

    assert exported() == ["bad", "t3", "t2", "t1", "t0"]
    assert exported(entry_type="golden", limit=3) == ["t3", "t2", "t1"]
    assert exported(confirmed=True, limit=1) == ["t2"]
    assert exported(tag="model:m1") == ["t3", "t1"]
    assert exported(since="2999-01-01T00:00:00.000Z") == []
    assert len(exported(since="2020-01-01T00:00:00.000Z")) == 5
    before = out.read_bytes()
    with pytest.raises(BadInput, match="unknown entry type 'nonsense'"):
        ws.dataset.export_to_jsonl(out, entry_type="nonsense")
    assert out.read_bytes() == before and [path for path in tmp_path.iterdir() if path.is_file()] == [out]


def test_pruning_keeps_what_the_dataset_cites(ws: Workspace) -> None:
    ws.intake.accept(
        [
            a_trace("old", started_at="2020-01-01T00:00:00Z"),
            a_trace("cited", scores=GOOD, started_at="2020-01-01T00:00:00Z"),
            a_trace("new"),
        ]
    )
    ws.live.curate()
    ws.intake.accept([ScoreLine(trace_id="never", name="check", value=1.0)])
    ws.store.db.write(lambda c: c.execute(text("UPDATE pending_records SET received_at = '2020-01-01T00:00:00.000Z'")))
    assert vars(ws.retention.prune("90d", dry_run=True)) == {"deleted": 1, "kept": 1, "waiting": 1}
    assert vars(ws.retention.prune("90d")) == {"deleted": 1, "kept": 1, "waiting": 1}
    assert ws.retention.prune("90d").deleted == 0
    with pytest.raises(NotFound):
        ws.intake.get("old")
    assert ws.intake.get("cited").id == "cited" and ws.intake.get("new").id == "new"
    with pytest.raises(BadInput, match="use 90d, 12h, 2w"):
        ws.retention.prune("ninety days")


def test_pruning_goes_on_after_what_is_cited_batch_by_batch(ws: Workspace) -> None:
    moment = "2020-01-01T00:00:00Z"
    cited = [a_trace(f"cited{n}", scores=GOOD, started_at=moment) for n in range(3)]
    ws.intake.accept([*cited, *(a_trace(f"old{n}", started_at=moment) for n in range(3)), a_trace("new")])
    ws.live.curate()
    deleted: list[int] = []
    last: PruneKey | None = ("", 0)
    while last is not None:
        batch = partial(prune_batch, before="2021", size=2, after=last)
        count, last = ws.store.db.write(batch)
        deleted.append(count)
    assert deleted == [2, 1, 0]
    assert {trace.id for trace in ws.intake.page(TraceFilter(), limit=9)[0]} == {"cited0", "cited1", "cited2", "new"}


def test_erasing_a_user_reaches_cases_histories_and_build_files(ws: Workspace, tmp_path: Path) -> None:
    ws.intake.accept(
        [
            a_trace("t1", user_id="ana", input="my secret", scores=GOOD),
            a_trace("t2", user_id="bo", scores=GOOD),
            Correction(trace_id="t1", text="another secret"),
        ]
    )
    ws.live.curate()
    mine = cases(ws, trace_id="t1")
    folder = tmp_path / "build"
    folder.mkdir()
    (folder / "all.jsonl").write_text("".join(f'{{"id": "{case.id}"}}\n' for case in cases(ws)))
    ws.store.db.write(lambda c: _record_build(c, str(folder), [case.id for case in cases(ws)]))

    erased = ws.retention.erase("ana", who="dpo", why="asked for")
    assert (erased.traces, erased.cases, erased.build_files) == (1, 2, 2)
    assert types(ws, "t2") == ["golden"]
    assert (folder / "all.jsonl").read_text().count("\n") == 1
    assert '"erased_lines"' in (folder / "ERASED.json").read_text()
    for case in mine:
        left = ws.cases.get("live", case.id)
        assert (left.status, left.input, left.output, left.expected) == (CaseStatus.ERASED, "", None, None)
    with ws.store.db.read() as connection:
        (stone,) = connection.execute(text("SELECT subject, who, why, counts FROM tombstones")).all()
        everything = "".join(str(row) for row in connection.execute(text("SELECT * FROM case_revisions")))
    assert stone.subject.startswith("sha256:") and (stone.who, stone.why) == ("dpo", "asked for")
    assert "secret" not in everything
    ws.live.curation.backfill()
    assert types(ws, "t1") == []


def test_after_erasure_no_table_holds_a_word_of_it(ws: Workspace) -> None:
    ws.intake.accept(
        [
            a_trace("t1", user_id="ana", input="my secret", output="a secret", scores=GOOD, tags=("secret",)),
            a_trace("t2", user_id="bo", input="bo's own", scores=GOOD),
            Correction(trace_id="t1", text="another secret", author="secret-keeper"),
        ]
    )
    ws.live.curate()
    mine = cases(ws, trace_id="t1")
    ws.cases.tag("live", mine[0].id, add=["secret-tag"], who="app")
    ws.store.db.write(lambda c: _record_run(c, [case.id for case in mine]))
    assert "secret" in _every_word(ws)
    assert ws.retention.erase("ana").run_copies == 3 * len(mine)
    assert "secret" not in _every_word(ws) and "bo's own" in _every_word(ws)
    assert ws.intake.page(TraceFilter(search="secret"), limit=5)[0] == []


def test_erasure_reaches_what_a_user_said_of_others_and_what_waits_on_the_disk(
    ws: Workspace, settings: Settings
) -> None:
    spool = settings.home / "spool" / "there"
    spool.mkdir(parents=True)
    waiting = [
        {"type": "trace", "id": "later", "user_id": "ana", "input": "secret"},
        {"type": "score", "trace_id": "later", "name": "x", "value": 1},
        {"type": "correction", "trace_id": "bos", "text": "secret", "author": "ana"},
        {"type": "trace", "id": "bos", "user_id": "bo", "input": "mine"},
    ]
    (spool / "1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in waiting))
    ws.intake.accept([a_trace("t2", user_id="bo", scores=GOOD), Reaction(trace_id="t2", emoji="👎", author="ana")])
    ws.intake.accept([Correction(trace_id=name, text="a secret", author="ana") for name in ("t2", "never")])
    ws.live.curate()
    assert types(ws, "t2") == ["correction", "failure"]
    erased = ws.retention.erase("ana")
    assert (erased.traces, erased.cases, erased.spooled) == (0, 1, 3)
    ws.live.curate()
    assert types(ws, "t2") == ["golden"]
    assert "secret" not in _every_word(ws)
    assert json.loads((spool / "1.jsonl").read_text())["id"] == "bos"
    with ws.store.db.read() as connection:
        assert json.loads(connection.execute(text("SELECT counts FROM tombstones")).scalar_one())["spooled"] == 3


def test_an_erased_word_is_not_in_the_file_of_the_database(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path)) as ws:
        ws.intake.accept([a_trace(f"t{n}", user_id="ana", input="xylophone", scores=GOOD) for n in range(20)])
        ws.live.curate()
        assert len(ws.intake.page(TraceFilter(search="xylophone"), limit=50)[0]) == 20
        ws.retention.erase("ana")
    assert b"xylophone" not in (tmp_path / "evergold.db").read_bytes()


def _record_run(connection: Any, case_ids: list[str]) -> None:
    said = {
        "run_cases": {"input": "secret", "contexts": ["secret"], "tool_calls": [{"arguments": "secret"}]},
        "attempts": {"output": "secret", "metadata": {"raw": "secret"}},
        "measurements": {"reason": "it says secret", "details": {"claims": ["secret"]}},
    }
    connection.execute(text("INSERT INTO runs (id, dataset, model, spec) VALUES ('r', 'live', 'm', '{}')"))
    connection.execute(text("INSERT INTO response_cache (key, body) VALUES ('k', 'secret')"))
    for case_id in case_ids:
        body = {table: json.dumps(words) for table, words in said.items()}
        for statement in (
            "INSERT INTO run_cases (run_id, case_id, body) VALUES ('r', :case, :run_cases)",
            "INSERT INTO attempts (run_id, case_id, trial, error, body) VALUES ('r', :case, 0, 'secret', :attempts)",
            "INSERT INTO measurements (run_id, case_id, trial, metric, state, value, body) "
            "VALUES ('r', :case, 0, 'judge', 'scored', 1.0, :measurements)",
        ):
            connection.execute(text(statement), body | {"case": case_id})


def _every_word(ws: Workspace) -> str:
    with ws.store.db.read() as connection:
        return "".join(
            str(row) for table in metadata.tables for row in connection.execute(text(f"SELECT * FROM {table}"))
        )


def _record_build(connection: Any, location: str, case_ids: list[str]) -> None:
    connection.execute(
        text("INSERT INTO builds (id, dataset, version, content_hash, location) VALUES (1, 'live', 'v1', 'h', :at)"),
        {"at": location},
    )
    connection.execute(
        text("INSERT INTO build_cases (build_id, case_id, rev) VALUES (1, :id, 'r')"), [{"id": id} for id in case_ids]
    )


def test_a_person_who_dismissed_an_entry_is_not_overruled(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=GOOD)])
    ws.live.curate()
    ws.store.db.write(lambda c: c.execute(text("UPDATE eval_dataset SET status = 'dismissed'")))
    ws.intake.accept([user_score("t1", 1.0)])
    assert ws.live.curate().total == 0
