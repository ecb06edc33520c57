"""What a tier rests on: silence makes a candidate, which every door leaves out unless it is asked for."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import text

from evergold.errors import BadInput, Incomplete
from evergold.model.case import Candidates, Case, TierEvidence
from evergold.model.policy import JudgeRole, Policy
from evergold.model.run import RunSpec
from evergold.model.trace import Correction, ScoreLine, ScoreSource, Trace
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.store.trace.filter import TraceFilter
from evergold.workspace import Workspace
from tests.builders import a_case, a_model_call, a_score, a_trace

QUESTION, ANSWER = "Where is my parcel, it was due on Monday?", "It is in Lyon and arrives on Thursday."


@pytest.fixture
def ws(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(replace(settings, checks_builtin="true", checks_off=("grounded",))) as workspace:
        yield workspace


def put(ws: Workspace, trace_id: str, *scores: object) -> Case:
    """Take a trace in, curate, and give its entry."""
    ws.intake.accept([a_trace(trace_id, input=f"{QUESTION} ({trace_id})", output=ANSWER, scores=scores)])
    ws.live.curate()
    return held(ws, trace_id)


def held(ws: Workspace, trace_id: str) -> Case:
    (entry,) = ws.cases.iterate(
        CaseFilter(trace_id=trace_id, policy="default", candidates=Candidates.INCLUDE, status=None)
    )
    return entry


def test_the_strongest_word_is_the_evidence(ws: Workspace) -> None:
    reward, thumb = a_score("reward", 1.0), a_score("thumb", 1.0, "user")
    assert put(ws, "silent").evidence is TierEvidence.SILENCE
    assert put(ws, "solved", reward).evidence is TierEvidence.OUTCOME
    assert put(ws, "liked", thumb).evidence is TierEvidence.USER
    assert put(ws, "both", reward, thumb, a_score("review", 0.9, "human")).evidence is TierEvidence.PERSON
    assert put(ws, "failed", a_score("reward", 0.0)).evidence is TierEvidence.OUTCOME
    assert put(ws, "hated", a_score("thumb", 0.0, "user")).evidence is TierEvidence.USER
    ws.intake.accept([a_trace("empty", input=QUESTION, output="")])
    ws.live.curate()
    assert held(ws, "empty").evidence is TierEvidence.CHECK
    tiers = [held(ws, name).tier for name in ("silent", "solved", "liked", "both", "failed")]
    assert tiers == ["candidate", "unconfirmed", "confirmed", "confirmed", "failure"]


def test_a_policy_names_the_scores_that_are_outcomes_and_lets_judges_speak(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", input=QUESTION, output=ANSWER, scores=(a_score("latency", 1.0),))])
    ws.live.use_policies([Policy(name="narrow", dataset="narrow", outcome=("reward",))]).backfill()
    (entry,) = ws.cases.iterate(CaseFilter(dataset="narrow", candidates=Candidates.INCLUDE))
    assert entry.tier == "candidate"
    judged = a_score("quality", 0.9, "llm_judge")
    ws.intake.accept([ScoreLine(trace_id="t1", **judged.model_dump(exclude={"id", "version"}))])
    ws.live.use_policies(
        [Policy(name="narrow", dataset="narrow", outcome=("reward",), llm_judge=JudgeRole.SYSTEM)]
    ).backfill()
    (entry,) = ws.cases.iterate(CaseFilter(dataset="narrow"))
    assert (entry.tier, entry.evidence) == ("unconfirmed", TierEvidence.CONTENT)


def test_an_answer_that_the_contexts_do_not_support_is_no_candidate(ws: Workspace) -> None:
    put(ws, "t1")
    unsupported = ScoreLine(
        trace_id="t1", name="grounded", value=0.0, source=ScoreSource.LLM_JUDGE, key="check:grounded"
    )
    ws.intake.accept([unsupported])
    ws.live.curate()
    assert held(ws, "t1").status == "withdrawn"
    ws.intake.accept([ScoreLine(trace_id="t1", name="reward", value=1.0)])
    ws.live.curate()
    assert (held(ws, "t1").status, held(ws, "t1").tier) == ("active", "unconfirmed")


def test_candidates_are_left_out_everywhere_until_they_are_asked_for(ws: Workspace, tmp_path: Path) -> None:
    put(ws, "silent")
    put(ws, "solved", a_score("reward", 1.0))
    stats = ws.live.stats()
    assert (stats.golden, stats.unconfirmed, stats.candidate, stats.total) == (1, 1, 1, 2)
    for chosen, count in ((Candidates.EXCLUDE, 1), (Candidates.INCLUDE, 2), (Candidates.ONLY, 1)):
        wanted = CaseFilter(dataset="live", candidates=chosen)
        assert ws.cases.count(wanted) == count
        path = tmp_path / f"{chosen}.jsonl"
        assert ws.cases.export(wanted, "live-jsonl", path) == count
        build, _ = ws.builds.freeze_as("live", out=tmp_path / chosen.value, filters={"candidates": chosen.value})
        assert build.cases == count
        run = ws.bench.plan(RunSpec(dataset="live", model="recorded", metrics=("exact_match",), candidates=chosen))
        assert (run.cases, run.candidates_left_out) == (count, int(chosen == Candidates.EXCLUDE))
    assert ws.cases.candidates_beside(CaseFilter(dataset="live")) == 1
    lines = [json.loads(line) for line in (tmp_path / "include.jsonl").read_text().splitlines()]
    assert {line["evidence"] for line in lines} == {"silence", "outcome"}
    frozen = ws.builds.versions("live")[0].manifest
    assert frozen["excluded"] == {"candidate": 1}
    (stored,) = (one for one in ws.bench.datasets.list() if one.name == "live")
    assert (stored.tasks, stored.candidates) == (1, 1)
    (summary,) = ws.builds.datasets()
    assert (summary.cases, summary.entry_type) == (1, {"golden": 1, "candidate": 1})
    assert ws.cases.count(CaseFilter(evidence=(TierEvidence.SILENCE,))) == 1
    facets = ws.cases.facets(CaseFilter(dataset="live", candidates=Candidates.INCLUDE))
    assert {one.value for one in facets.tiers} == {"candidate", "unconfirmed"}


def test_where_only_candidates_are_left_the_message_says_how_to_confirm_them(ws: Workspace) -> None:
    put(ws, "silent")
    with pytest.raises(BadInput, match=r"1 candidates wait.*review.*judge check.*reactions"):
        ws.bench.plan(RunSpec(dataset="live", model="recorded", metrics=("exact_match",)))
    with pytest.raises(Incomplete, match="1 candidates wait"):
        ws.builds.freeze_as("live")


def test_a_later_word_confirms_a_candidate_and_taking_it_back_makes_it_one_again(ws: Workspace) -> None:
    put(ws, "t1")
    ws.intake.accept([ScoreLine(trace_id="t1", name="thumb", value=1.0, source=ScoreSource.USER)])
    ws.live.curate()
    assert (held(ws, "t1").tier, held(ws, "t1").evidence) == ("confirmed", TierEvidence.USER)
    (given,) = (score for score in ws.intake.get("t1").scores if score.name == "thumb")
    ws.live.unscore(given.id or 0)
    ws.live.curate()
    assert (held(ws, "t1").tier, held(ws, "t1").evidence) == ("candidate", TierEvidence.SILENCE)
    assert [revision.action for revision in ws.cases.history("live", "default:t1")][:2] == ["added", "confirmed"]


def test_a_user_who_says_that_it_worked_confirms_the_answer_before_and_makes_no_case(ws: Workspace) -> None:
    said = ("How do I reset my password?", "Open Settings, Security, and choose Reset password.")
    thanked = ("perfecto, ya funciona, gracias", "Me alegro de que se haya resuelto, aquí estoy para lo que necesites.")
    turns = [
        a_trace(f"t{n}", session_id="s", input=question, output=answer, started_at=f"2026-07-01T10:0{n}:00Z")
        for n, (question, answer) in enumerate((said, thanked))
    ]
    ws.intake.accept(turns)
    ws.live.curate()
    assert (held(ws, "t0").tier, held(ws, "t0").evidence) == ("confirmed", TierEvidence.USER)
    (shown,) = ws.live.explain("t1")
    assert shown.tier == "none" and "remark on an earlier answer" in shown.reason
    (praise,) = (score for score in ws.intake.get("t0").scores if score.source is ScoreSource.USER)
    ws.live.unscore(praise.id or 0)
    ws.live.curate()
    assert held(ws, "t0").tier == "candidate"
    assert "remark" not in ws.live.explain("t1")[0].reason


FACT = "Parcels to Lima take three days."
DOCUMENT = {"retrieval.documents.0.document.content": FACT, "openinference.span.kind": "RETRIEVER"}
LISTED = json.dumps([{"id": "d1", "content": FACT}])
CALL = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
CALLED: list[dict[str, object]] = [
    {"role": "user", "content": "How long do parcels take?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": FACT},
]
RETRIEVALS: dict[str, dict[str, object]] = {
    "openinference": {"spans": [{"id": "a", "kind": "retriever", "metadata": {"attributes": DOCUMENT}}]},
    "opentelemetry": {"spans": [{"id": "a", "metadata": {"attributes": {"gen_ai.retrieval.documents": LISTED}}}]},
    "vector-db": {
        "spans": [
            {"id": "a", "name": "vector_db_retrieve", "output": json.dumps({"documents": [{"page_content": FACT}]})}
        ]
    },
    "rest": {"contexts": [FACT]},
    "tools": {},
    "model call": {},
}


def test_every_way_of_stating_what_was_retrieved_is_read_and_doubt_keeps_an_answer_out(settings: Settings) -> None:
    asked = "How long do parcels take?"
    with Workspace.open(replace(settings, checks_builtin="true")) as ws:
        for name, more in RETRIEVALS.items():
            invented = "The shop has a blue door and a garden on the roof."
            for suffix, answer in (("", FACT), ("-not", invented)):
                reply = {"role": "assistant", "content": answer}
                told = more
                if name == "tools":
                    told = {"messages": [*CALLED, reply]}
                elif name == "model call":
                    told = {"spans": [a_model_call("root", CALLED, [reply], parent_id=None)]}
                ws.intake.accept([a_trace(name + suffix, input=asked, output=answer, **told)])
        ws.live.curate()
        for name, more in RETRIEVALS.items():
            (grounded,) = (score for score in ws.intake.get(name).scores if score.name == "grounded")
            assert grounded.value == 1.0, name
            assert "a judge found too little" in ws.live.explain(f"{name}-not")[0].reason, name
            contexts = ws.case_actions.conversation(name).contexts
            assert [one.text for one in contexts] == ([FACT] if more else [])


def test_an_outcome_outweighs_the_form_of_an_answer_and_no_error(ws: Workspace) -> None:
    reward = a_score("reward", 1.0)
    ws.intake.accept([
        a_trace("json", input=QUESTION, output='{"answer": "Lyon", "day": "Thursday"}', scores=(reward,)),
        a_trace("error", input=QUESTION, output="Error 500: internal server error", scores=(reward,)),
        a_trace("bare", input=QUESTION, output='{"answer": "Lyon", "day": "Thursday"}'),
    ])  # fmt: skip
    ws.live.curate()
    assert held(ws, "json").evidence is TierEvidence.OUTCOME
    assert held(ws, "error").tier == "failure"
    assert ws.live.explain("bare")[0].tier == "none"


def test_the_app_of_a_record_is_its_service_and_name(ws: Workspace) -> None:
    sent: list[dict[str, object]] = [
        {"id": "a", "app": "shop/chat"},
        {"id": "b", "app": "chat"},
        {"id": "c", "app": "x/y", "name": "own"},
    ]
    ws.intake.accept([Trace.model_validate(one) for one in sent])
    apps = {one: ws.intake.get(one).app for one in "abc"}
    assert apps == {"a": "shop/chat", "b": "chat", "c": "own"}
    for one in "abc":
        again = Trace.model_validate(ws.intake.get(one).model_dump(mode="json"))
        assert (again.name, again.metadata) == (ws.intake.get(one).name, ws.intake.get(one).metadata)


def test_a_format_that_nearly_all_answers_of_an_app_share_is_held_against_none(ws: Workspace) -> None:
    def send(service: str, numbers: range, answer: str = '{{"city": "Lyon", "day": {}}}') -> None:
        ws.intake.accept([
            a_trace(f"{service}-{n}", name="chat", input=f"{QUESTION} ({n})", output=answer.format(n),
                    started_at=f"2026-07-01T10:{n:02}:00Z", metadata={"services": [service]})
            for n in numbers
        ])  # fmt: skip
        ws.live.curate()

    send("shop", range(15))
    assert ws.live.explain("shop-1")[0].tier == "none"
    send("shop", range(15, 25))
    send("bank", range(15))
    assert {ws.live.explain(f"shop-{n}")[0].tier for n in range(25)} == {"candidate"}
    assert {ws.live.explain(f"bank-{n}")[0].tier for n in range(15)} == {"none"}
    send("shop", range(25, 33), "It is in Lyon and arrives on day {}.")
    assert ws.live.explain("shop-1")[0].tier == "none"
    assert ws.intake.get("shop-1").app == "shop/chat"
    assert ws.intake.count(TraceFilter(app=("bank/chat",))) == 15
    assert {one.value: one.count for one in ws.intake.facets(TraceFilter()).apps} == {"shop/chat": 33, "bank/chat": 15}
    narrow = Policy.model_validate({"name": "narrow", "dataset": "narrow", "eligible": {"apps": ["shop/chat"]}})
    ws.live.use_policies([narrow]).backfill()
    listed = list(ws.cases.iterate(CaseFilter(dataset="narrow", candidates=Candidates.INCLUDE)))
    assert {case.provenance.trace_id for case in listed} == {f"shop-{n}" for n in range(25, 33)}


def test_rows_of_files_and_of_sql_are_never_left_out(ws: Workspace) -> None:
    put(ws, "t1")
    ws.cases.put([a_case("from-file", dataset="live")])
    insert = """INSERT INTO eval_dataset (trace_id, entry_type, input_text, output_text)
        SELECT id, 'golden', input_text, output_text FROM traces WHERE id = 't1'"""
    ws.store.db.write(lambda connection: connection.execute(text(insert)))
    listed = {case.evidence for case in ws.cases.iterate(CaseFilter(dataset="live"))}
    assert listed == {TierEvidence.SOURCE, TierEvidence.PERSON}


def test_corrections_state_whose_they_are(ws: Workspace) -> None:
    put(ws, "t1", a_score("reward", 1.0))
    ws.intake.accept([Correction(trace_id="t1", text="It is in Nice.")])
    ws.live.curate()
    entries = {case.entry_type: case.evidence for case in ws.cases.iterate(CaseFilter(dataset="live"))}
    assert entries == {"failure": TierEvidence.PERSON, "correction": TierEvidence.PERSON}
