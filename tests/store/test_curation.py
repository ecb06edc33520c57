"""Set-based curation says what the tier table says, on both databases, and every change leaves a revision."""

import itertools
import math
import random
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection, text

from evergold.curate.classify import Facts, Tally, classify
from evergold.model.case import Candidates, Case, CaseStatus
from evergold.model.policy import Eligibility, JudgeRole, Policy, Sampling, Thresholds, Tier
from evergold.model.trace import Correction, Gap, Score, ScoreSource, Span, Trace, TraceStatus
from evergold.store import Store
from evergold.store.case.cases import CaseFilter, Revision, iterate_cases, revisions_of
from evergold.store.trace.scores import put_scores, scores_of
from evergold.store.trace.traces import put_correction, put_traces
from evergold.store.verdict.curation import Changes, curate_range, curate_traces, preview, ranges, take_queued
from tests.builders import a_score, a_trace

VALUES = [0.0, 0.1, math.nextafter(0.3, 0), 0.3, 0.5, math.nextafter(0.8, 0), 0.8, 0.95, 1.0]
OUTPUTS = ["Lima.", "Lima.", "Lima.", None, "", " \n\t\u00a0", "Try later.", " Oops, code 17 "]

POLICIES = [
    Policy(name="typed", eligible=Eligibility(metadata={"model": ("m1",)})),
    Policy(name="quoted", eligible=Eligibility(metadata={'a"b\\c.d': ("x", "y")})),
    Policy(),
    Policy(name="outcome", outcome=("flag",)),
    Policy(name="strict", thresholds=Thresholds(failure_below=0.5, golden_from=0.95), ignore=("flag",)),
    Policy(name="judged", llm_judge=JudgeRole.SYSTEM, fallback_texts=("Try later.", "Oops*")),
    Policy(name="sampled", sample=Sampling(candidate=0.5, unconfirmed=0.5, confirmed=0.25, failure=0.75)),
    Policy(
        name="some",
        eligible=Eligibility(
            names=("chat",),
            users=("ana", "bo"),
            exclude_users=("bo",),
            metadata={"model": ("m1", "m2"), "size": ("1",)},
            min_input_chars=5,
        ),
    ),
]


def automatic_tags(trace: Trace, scores: Sequence[Score], policy: Policy, tier: Tier) -> set[str]:
    """The tags the policy asks for, in Python: what the SQL is held to."""
    tags: set[str] = set(trace.tags)
    for kind in policy.tags:
        # A golden entry fails nothing: a person's praise outweighs the check that found a flaw.
        if kind != "failed_check" or tier is Tier.FAILURE:
            tags.update(_tags(kind, trace, scores, policy))
    return {tag for tag in tags if tag}


def _tags(kind: str, trace: Trace, scores: Sequence[Score], policy: Policy) -> Iterable[str]:
    if kind == "message_type":
        return _text(trace, "message_type", "")
    if kind == "model":
        return _text(trace, "model", "model:")
    if kind == "tool":
        return {f"tool:{span.name}" for span in trace.spans if span.kind == "tool" and span.name}
    if kind == "failed_check":
        low, tally = policy.thresholds.failure_below, Tally.of(scores, policy)
        return {f"failed:{score.name}" for score in (*tally.app, *tally.checks) if score.value < low}
    raise AssertionError(f"a tag kind without a rule here: {kind}")


def _text(trace: Trace, key: str, prefix: str) -> Iterator[str]:
    value = trace.metadata.get(key)
    if isinstance(value, str) and value:
        yield prefix + value


def random_traces(count: int, seed: int) -> list[Trace]:
    pick = random.Random(seed)
    sources = list(ScoreSource)
    return [
        a_trace(
            f"t{number:04}",
            name=pick.choice(["chat", "chat", "other"]),
            input=pick.choice(["hi", "a long question"]),
            output=pick.choice(OUTPUTS),
            status=pick.choice([TraceStatus.COMPLETED] * 4 + [TraceStatus.FAILED]),
            user_id=pick.choice([None, "ana", "bo"]),
            tags=tuple(pick.sample(["vip", "beta"], pick.randint(0, 2))),
            metadata=pick.choice(
                [
                    {},
                    {"model": "m1", "message_type": "audio"},
                    {"model": "m2", "size": 1},
                    {'a"b\\c.d': "x", "model": "m1"},
                ]
            ),
            spans=tuple(
                Span(id=f"s{n}", kind="tool", name=pick.choice(["search", "sum"])) for n in range(pick.randint(0, 2))
            ),
            scores=random_scores(pick, sources),
            incomplete=pick.choice([()] * 5 + [(Gap.ENVELOPE, Gap.TOOLS_MISSING)]),
        )
        for number in range(count)
    ]


def random_scores(pick: random.Random, sources: Sequence[ScoreSource]) -> tuple[Score, ...]:
    given = tuple(
        Score(
            name=f"{pick.choice(['check', 'flag'])}", value=pick.choice(VALUES), source=pick.choice(sources), key=str(n)
        )
        for n in range(pick.randint(0, 4))
    )
    checks = [name for name in ("answered", "not_handed_over") if pick.random() < 0.3]
    if pick.random() < 0.3:
        value = pick.choice((0.1, 0.6, 0.9))
        given += (Score(name="grounded", value=value, source=ScoreSource.LLM_JUDGE, key="check:grounded"),)
    return given + tuple(Score(name=name, value=pick.choice((0.1, 0.5, 0.9)), key=f"check:{name}") for name in checks)


VOICES: list[dict[str, Any]] = [
    {"name": "reward", "source": ScoreSource.SYSTEM},
    {"name": "answered", "source": ScoreSource.SYSTEM, "key": "check:answered"},
    {"name": "not_handed_over", "source": ScoreSource.SYSTEM, "key": "check:not_handed_over"},
    {"name": "grounded", "source": ScoreSource.LLM_JUDGE, "key": "check:grounded"},
    {"name": "remark", "source": ScoreSource.USER, "key": "detected:next"},
    {"name": "thumb", "source": ScoreSource.USER},
    {"name": "review", "source": ScoreSource.HUMAN},
]


def combined_scores(count: int, seed: int) -> list[tuple[Score, ...]]:
    """Some of all combinations of who speaks of a trace, and how well of it."""
    combinations = list(itertools.product((None, 0.1, 0.5, 0.9), repeat=len(VOICES)))
    return [
        tuple(Score(value=value, **voice) for voice, value in zip(VOICES, values, strict=True) if value is not None)
        for values in random.Random(seed).sample(combinations, count)
    ]


def backfill(store: Store, policy: Policy) -> Changes:
    total = Changes()
    with store.db.read() as connection:
        spans = list(ranges(connection, 70))
    for after, upto, _ in spans:
        total.add(store.db.write(partial(curate_range, policy=policy, after=after, upto=upto)))
    return total


def entries(store: Store, policy: Policy, status: CaseStatus | None = CaseStatus.ACTIVE) -> dict[str, Case]:
    with store.db.read() as connection:
        found = list(
            iterate_cases(connection, CaseFilter(policy=policy.name, status=status, candidates=Candidates.INCLUDE))
        )
    return {str(case.provenance.trace_id): case for case in found}


def history(store: Store, case: Case) -> list[Revision]:
    with store.db.read() as connection:
        return revisions_of(connection, case.dataset, case.id)


def tier_of(case: Case | None) -> Tier:
    return Tier.NONE if case is None else Tier(case.tier)


def put_incomplete(store: Store, incoming: Sequence[Trace]) -> None:
    """Store traces as they are, and what some of them lack, which intake does not take from a sender."""

    def work(connection: Connection) -> None:
        put_traces(connection, incoming)
        for trace in incoming:
            values = {"gaps": " ".join(("", *trace.incomplete, "")) if trace.incomplete else "", "id": trace.id}
            connection.execute(text("UPDATE traces SET incomplete = :gaps WHERE id = :id"), values)

    store.db.write(work)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_sql_and_python_give_the_same_verdicts(store: Store, policy: Policy) -> None:
    incoming = random_traces(120, seed=1)
    put_incomplete(store, incoming)
    backfill(store, policy)
    living = entries(store, policy)
    for trace in incoming:
        verdict = classify(trace, trace.scores, policy)
        entry = living.get(trace.id)
        assert tier_of(entry) is verdict.tier, (trace, verdict)
        if entry is not None:
            assert entry.evidence is verdict.evidence, (trace, verdict)
            assert set(entry.tags) == automatic_tags(trace, trace.scores, policy, verdict.tier)
            assert entry.provenance.inclusion_probability == verdict.included
            (told,) = history(store, entry)
            assert told.why == policy.explain(verdict.reason)
            assert sorted((s["name"], s["source"]) for s in told.evidence["scores"]) == sorted(
                (s.name, s.source.value) for s in verdict.deciding
            )
    assert backfill(store, policy).total == 0


@pytest.mark.parametrize(
    "policy", [Policy(), Policy(name="judged", llm_judge=JudgeRole.SYSTEM)], ids=lambda one: one.name
)
def test_sql_and_python_give_the_same_tags_whoever_speaks_of_a_trace(store: Store, policy: Policy) -> None:
    before, after = combined_scores(80, seed=3), combined_scores(80, seed=4)
    incoming = [a_trace(f"t{number:04}", scores=scores) for number, scores in enumerate(before)]
    put_incomplete(store, incoming)
    backfill(store, policy)
    _same_tags(store, policy, incoming)
    # Scores of the same names replace those before: golden entries become failures, failures golden, tags follow.
    later = [trace.model_copy(update={"scores": scores}) for trace, scores in zip(incoming, after, strict=True)]
    store.db.write(lambda c: [put_scores(c, [(trace.id, score) for score in trace.scores]) for trace in later])
    backfill(store, policy)
    with store.db.read() as connection:
        now = [trace.model_copy(update={"scores": tuple(scores_of(connection, trace.id))}) for trace in later]
    _same_tags(store, policy, now)


def _same_tags(store: Store, policy: Policy, traces: Sequence[Trace]) -> None:
    living = entries(store, policy)
    for trace in traces:
        tier = classify(trace, trace.scores, policy).tier
        entry = living.get(trace.id)
        assert tier_of(entry) is tier, trace.scores
        if entry is not None:
            assert set(entry.tags) == automatic_tags(trace, trace.scores, policy, tier), trace.scores


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.name)
def test_they_still_agree_after_every_score_has_changed(store: Store, policy: Policy) -> None:
    incoming = random_traces(120, seed=1)
    put_incomplete(store, incoming)
    backfill(store, policy)
    corrected = {trace.id for trace in incoming[::3]}
    store.db.write(lambda c: [put_correction(c, Correction(trace_id=id, text="Lima!")) for id in sorted(corrected)])
    store.db.write(
        lambda c: [put_scores(c, [(trace.id, score) for score in trace.scores]) for trace in random_traces(120, seed=2)]
    )
    backfill(store, policy)
    living = entries(store, policy)
    with store.db.read() as connection:
        for trace in incoming:
            verdict = classify(trace, scores_of(connection, trace.id), policy, Facts(corrected=trace.id in corrected))
            entry = living.get(trace.id)
            assert tier_of(entry) is verdict.tier, (trace, verdict)
            if entry is not None:
                assert entry.provenance.inclusion_probability == verdict.included
    assert backfill(store, policy).total == 0


def scored(store: Store, *scores: Score) -> Changes:
    def work(connection: Connection) -> Changes:
        put_scores(connection, [("t1", score) for score in scores])
        return curate_traces(connection, Policy(), take_queued(connection))

    return store.db.write(work)


def test_one_living_entry_follows_its_scores(store: Store) -> None:
    store.db.write(lambda c: put_traces(c, [a_trace("t1")]))
    steps = [
        (a_score("check", 0.9, key="check"), {"added": 1}),
        (a_score("thumbs", 1.0, "user", key="thumbs"), {"confirmed": 1}),
        (a_score("thumbs", 0.0, "user", key="thumbs"), {"failed": 1}),
        (a_score("thumbs", 0.5, "user", key="thumbs"), {"withdrawn": 1}),
        (a_score("thumbs", 0.9, "user", key="thumbs"), {"restored": 1}),
    ]
    for score, change in steps:
        assert scored(store, score).by_kind == change
    (entry,) = entries(store, Policy(), status=None).values()
    assert entry.metadata == {"confirmed": True} and entry.version == 5
    told = history(store, entry)
    assert [revision.action for revision in told] == ["added", "confirmed", "failed", "withdrawn", "restored"]
    assert [revision.evidence["is"] for revision in told] == [
        "unconfirmed",
        "confirmed",
        "failure",
        "none",
        "confirmed",
    ]
    assert told[2].why == "a user or human score is below 0.3"
    assert told[2].evidence["scores"] == [{"name": "thumbs", "source": "user", "value": 0.0}]
    assert all(revision.who == f"policy {Policy().label}" for revision in told)


def test_a_queue_that_is_taken_is_empty(store: Store) -> None:
    store.db.write(lambda c: put_traces(c, [a_trace(f"t{n}", scores=(a_score(),)) for n in range(5)]))
    assert sorted(store.db.write(lambda c: take_queued(c, 3))) == ["t0", "t1", "t2"]
    assert len(store.db.write(take_queued)) == 2
    assert store.db.write(take_queued) == []


def test_a_new_trace_waits_only_when_something_may_follow_from_it(store: Store) -> None:
    alone = [a_trace("t1"), a_trace("t2", session_id="s1"), a_trace("t3", scores=(a_score(),))]
    store.db.write(lambda c: put_traces(c, alone))
    assert store.db.write(take_queued) == ["t3"]
    store.db.write(lambda c: put_traces(c, [a_trace("t4", session_id="s2"), a_trace("t5", session_id="s2")]))
    assert sorted(store.db.write(take_queued)) == ["t4", "t5"]
    store.db.write(lambda c: put_traces(c, [a_trace("t6", session_id="s1"), a_trace("t7", session_id="s3")]))
    assert store.db.write(take_queued) == ["t6"]


def test_a_preview_tells_and_does_nothing(store: Store) -> None:
    store.db.write(lambda c: put_traces(c, [a_trace("t1", scores=(a_score(),)), a_trace("t2")]))
    with store.db.read() as connection:
        assert preview(connection, Policy(), "", "t2").by_kind == {"added": 1}
    assert entries(store, Policy()) == {}


def test_policies_stand_beside_each_other(store: Store) -> None:
    store.db.write(lambda c: put_traces(c, [a_trace("t1", scores=(a_score(value=0.9),))]))
    other = Policy(name="other", dataset="elsewhere", thresholds=Thresholds(golden_from=0.85))
    assert backfill(store, Policy()).by_kind == backfill(store, other).by_kind == {"added": 1}
    assert entries(store, other)["t1"].dataset == "elsewhere"


def test_the_late_text_of_a_trace_reaches_an_untouched_entry(store: Store) -> None:
    store.db.write(lambda c: put_traces(c, [a_trace("t1", output=None, scores=(a_score(value=0.0),))]))
    backfill(store, Policy())
    store.db.write(lambda c: c.execute(text("UPDATE traces SET output_text = 'Quito.' WHERE id = 't1'")))
    assert backfill(store, Policy()).by_kind == {"refreshed": 1}
    assert entries(store, Policy())["t1"].output == "Quito."


def test_tags_of_failed_checks_follow_the_present_scores(store: Store) -> None:
    store.db.write(lambda c: put_traces(c, [a_trace("t1")]))
    scored(store, a_score("pii", 0.0, key="pii"), a_score("tone", 0.9, key="tone"))
    assert scored(store, a_score("tone", 0.1, key="tone")).by_kind == {"retagged": 1}
    assert entries(store, Policy())["t1"].tags == ("failed:pii", "failed:tone")
    assert scored(store, a_score("pii", 0.5, key="pii")).by_kind == {"retagged": 1}
    entry = entries(store, Policy())["t1"]
    assert entry.tags == ("failed:tone",)
    assert [told.action for told in history(store, entry)] == ["added", "retagged", "retagged"]
    assert scored(store, a_score("tone", 0.2, key="tone")).by_kind == {}
    assert scored(store, a_score("tone", 0.9, key="tone")).by_kind == {"withdrawn": 1}
    assert scored(store, a_score("pii", 0.9, key="pii")).by_kind == {"restored": 1}
    assert entries(store, Policy())["t1"].tags == ()


def test_a_rehearsal_tells_and_leaves_nothing(store: Store) -> None:
    def work(connection: Connection) -> list[str]:
        put_traces(connection, [a_trace("t1", scores=(a_score(),))])
        return take_queued(connection)

    assert store.db.dry_run(work) == ["t1"]
    with store.db.read() as connection:
        assert connection.execute(text("SELECT count(*) FROM traces")).scalar_one() == 0
