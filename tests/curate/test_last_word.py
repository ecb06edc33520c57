"""Whatever comes in whatever order, what a reviewer decided last about a trace stays as they left it."""

import tempfile
from pathlib import Path

from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from evergold.model.case import Case
from evergold.model.policy import CurationRules, Limit, NewRules, Policy
from evergold.model.review import CaseKey, Decision, ReviewVerdict
from evergold.model.trace import Reaction, ScoreLine, ScoreSource, Trace
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter, iterate_cases
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace

Left = tuple[str, str, str]


class LastWord(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self.ws = Workspace.open(Settings(home=Path(self._folder.name), checks_builtin="true"))
        self.left: Left | None = None
        self.turns = 1
        self.ws.intake.accept([self._turn(1, "What is the capital of Peru?")])
        self.ws.live.curate()

    def _turn(self, number: int, said: str) -> Trace:
        moment = f"2026-01-01T10:{number:02}:00Z"
        return a_trace(f"t{number}", session_id="s", started_at=moment, input=said, scores=(a_score("app", 1.0),))

    def teardown(self) -> None:
        self.ws.close()
        self._folder.cleanup()

    def _entry(self) -> Case | None:
        with self.ws.store.db.read() as connection:
            wanted = CaseFilter(trace_id="t1", policy="default", status=None)
            return next(iter(iterate_cases(connection, wanted)), None)

    @rule(value=st.sampled_from([0.0, 0.5, 1.0]), source=st.sampled_from(["system", "user", "human"]))
    def score(self, value: float, source: str) -> None:
        self.ws.intake.accept([ScoreLine(trace_id="t1", name="s", value=value, source=ScoreSource(source), key=source)])
        self.ws.live.curate()

    @rule(emoji=st.sampled_from(["👍", "👎", None]))
    def react(self, emoji: str | None) -> None:
        self.ws.intake.accept([Reaction(trace_id="t1", emoji=emoji)])
        self.ws.live.curate()

    @precondition(lambda self: self.turns < 9)
    @rule(said=st.sampled_from(["That's wrong.", "Thanks!", "WHAT IS THE CAPITAL OF PERU?"]))
    def say(self, said: str) -> None:
        self.turns += 1
        self.ws.intake.accept([self._turn(self.turns, said)])
        self.ws.live.curate()

    @rule(verdict=st.sampled_from(["approve", "dismiss"]), kind=st.sampled_from(["golden", "failure"]))
    def review(self, verdict: str, kind: str) -> None:
        case = self._entry()
        if case is None or case.status == "withdrawn":
            return
        changes = {"entry_type": kind} if case.entry_type != kind else {}
        decision = Decision(version=case.version, verdict=ReviewVerdict(verdict), changes=changes)
        after = self.ws.review.decide(CaseKey(dataset=case.dataset, id=case.id), decision, "ana")
        self.left = (after.entry_type, after.status, after.review)

    @rule()
    def backfill(self) -> None:
        self.ws.live.checks.backfill()
        self.ws.live.curation.backfill()

    @rule(golden_from=st.sampled_from([0.4, 0.95]))
    def another_policy(self, golden_from: float) -> None:
        file = Path(self._folder.name) / "other.toml"
        file.write_text(f'name = "default"\n[thresholds]\ngolden_from = {golden_from}\n')
        self.ws.live.with_policy_files([file]).backfill()

    @rule(limit=st.sampled_from([0, 200]), off=st.sampled_from([(), ("answered", "not_repeated")]))
    def change_the_rules(self, limit: int, off: tuple[str, ...]) -> None:
        rules = CurationRules(policy=Policy(limit=Limit(candidates_per_day=limit)), checks_off=off)
        self.ws.rules.save(NewRules(rules=rules, base=self.ws.rules.view().number), "bo")
        self.ws.live.curate()

    @rule(detector=st.sampled_from(["", "patterns"]))
    def switch_the_detector(self, detector: str) -> None:
        self.ws.close()
        folder = Path(self._folder.name)
        self.ws = Workspace.open(Settings(home=folder, checks_builtin="true", curation_detector=detector))
        self.ws.live.curation.backfill()

    @rule()
    def undo(self) -> None:
        label = self.ws.live.curation.policies[0].label
        if any(revision.first_used for revision in self.ws.live.policies() if revision.label == label):
            self.ws.live.undo(label)

    @invariant()
    def the_last_word_stands(self) -> None:
        if self.left is not None:
            case = self._entry()
            assert case is not None and (case.entry_type, case.status, case.review) == self.left


TestLastWord = LastWord.TestCase
TestLastWord.settings = hypothesis_settings(max_examples=8, stateful_step_count=8, deadline=None)
