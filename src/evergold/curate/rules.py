"""The rules of curation: policies, checks and detector in force, what others would change, saving them, going back.

What the settings say stands: a policy `default` of a file, and checks that a setting turns on or off, are shown and not
changed here. A saved change queues every trace, and curation judges them again; what people decided stands as always.
Each change makes another `InForce`; nothing in one ever changes.
"""

from collections.abc import Sequence
from functools import cached_property, partial
from inspect import cleandoc
from pathlib import Path

from sqlalchemy import Connection

from evergold import plugins
from evergold.checks.service import Checks
from evergold.checks.stage import CheckStage
from evergold.checks.suite import is_slow
from evergold.checks.switch import BEGAN_WITH, builtin_on, left_open
from evergold.curate.detectors import JudgeDetector, asked_counter
from evergold.curate.kept_out import kept_out_of
from evergold.curate.live import Curation
from evergold.curate.policy import DEFAULT, parse_policy, policies, read_policy
from evergold.errors import BadInput, NotFound, Refused, describe_unknown
from evergold.judge.names import DEFAULT_JUDGE, check_judge, make_judge
from evergold.model.policy import (
    CheckSwitch,
    CurationRules,
    KeptOut,
    NewRules,
    Policy,
    ReasonChange,
    RulesChange,
    RulesPreview,
    RulesView,
)
from evergold.model.trace import CHECK_KEY
from evergold.seams import Detector
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.facts import fact, put_fact, read_counters
from evergold.store.trace.scores import CHECKS_ON, drop_scores
from evergold.store.verdict.candidates import choose_day, days_of, gather_traces, pool_days, put_due_days
from evergold.store.verdict.checks import put_checked, seen_by_checks, turns_of
from evergold.store.verdict.curation import changes_of_rules, keep_rules, newest_number, queue_counts, requeue_all
from evergold.store.verdict.tiers import newest_traces

JUDGE = "judge:"


def detector_named(store: Store, settings: Settings) -> Detector | None:
    """Make the detector of `curation.detector`; None where that is empty."""
    name = settings.curation_detector.strip()
    if not name.startswith(JUDGE):
        # An unknown name is a slip of the settings; one that is installed and broken costs remarks alone.
        if name and name not in plugins.names("detectors"):
            raise NotFound(describe_unknown("detector", name, plugins.names("detectors")))
        detector: Detector | None = plugins.load_all("detectors", [name] if name else ()).get(name)
        return detector
    judge = name.removeprefix(JUDGE)
    if judge == DEFAULT_JUDGE:
        raise BadInput(
            f"curation.detector = {name!r}: the offline judge does not read remarks; "
            "name a model (judge:openai/MODEL) or use patterns"
        )
    check_judge(judge)
    sample, budget = settings.curation_detector_sample, settings.curation_detector_budget
    if not 0.0 <= sample <= 1.0 or budget < 0:
        raise BadInput(
            f"curation.detector_sample = {sample:g}, curation.detector_budget = {budget}: "
            "a sample lies from 0 to 1 and a budget is not negative"
        )
    asked = store.read(read_counters, asked_counter()).get(asked_counter(), 0)
    return JudgeDetector(name, make_judge(judge, settings), budget, sample, asked)


class InForce:
    """Policies, checks and detector under one state of the rules; without rules, as the settings say."""

    def __init__(self, store: Store, settings: Settings, number: int = 0, rules: CurationRules | None = None) -> None:
        self._store, self._settings, self.number, self.rules = store, settings, number, rules

    @cached_property
    def policies(self) -> tuple[Policy, ...]:
        """The policy `default`, of a file if one is so called, and those of the other files."""
        return policies(self._settings.curation_policies, self.rules.policy if self.rules is not None else DEFAULT)

    @cached_property
    def checks(self) -> Checks:
        return Checks(self._store, self._settings, self.rules)

    @cached_property
    def curation(self) -> Curation:
        return self.use_policies(self.policies)

    @cached_property
    def _detector(self) -> Detector | None:
        return detector_named(self._store, self._settings)

    def use_policies(self, chosen: Sequence[Policy]) -> Curation:
        """These policies instead of those in force, for which what waits goes on waiting."""
        # A trial of other policies must not take traces out of the queue of those in force.
        rules = self.number if set(self.policies) <= set(chosen) else None
        return Curation(self._store, chosen, self._detector, rules=rules, checks=self.checks.stage)


PREVIEWED = 2_000  # newest traces: whoever writes meanwhile waits for the preview


class RuleChanges:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._held: InForce | None = None

    @property
    def in_force(self) -> InForce:
        """The rules as they are now: another process may have changed them since the last call."""
        with self._store.db.read() as connection:
            number = newest_number(connection)
            if self._held is None or self._held.number != number:
                changes = changes_of_rules(connection, most=1)
                newest = (changes[0].number, changes[0].rules) if changes else (0, None)
                self._held = InForce(self._store, self._settings, *newest)
        return self._held

    def view(self) -> RulesView:
        """Show the rules in force, what the settings hold of them, and every change so far."""
        in_force = self.in_force
        with self._store.db.read() as connection:
            began_with = fact(connection, BEGAN_WITH)
            history = changes_of_rules(connection)
            waiting, _ = queue_counts(connection)
        began = RulesChange(number=0, rules=CurationRules(checks_on=builtin_on(self._settings, began_with)))
        held = in_force.rules or began.rules
        on = builtin_on(self._settings, began_with, in_force.rules)
        return RulesView(
            number=in_force.number,
            rules=held.model_copy(update={"policy": in_force.policies[0], "checks_on": on}),
            policy_set_by=self._file_of_default(),
            checks_set_by="" if left_open(self._settings) else self._origin("checks.builtin"),
            checks=self._switches(held),
            history=(*history, began),
            waiting=waiting,
        )

    def preview(self, rules: CurationRules) -> RulesPreview:
        """Say what these rules would make of the newest traces; nothing is kept."""
        proposed = self._propose(rules)
        current = self.in_force
        now = self._store.read(self._kept_out, current)
        then = self._store.db.dry_run(partial(self._suppose, current=current, proposed=proposed))
        return RulesPreview(
            traces=now.traces,
            golden_now=now.golden,
            golden_then=then.golden,
            candidate_now=now.candidate,
            candidate_then=then.candidate,
            failure_now=now.failure,
            failure_then=then.failure,
            reasons=_compare(now, then),
        )

    def save(self, chosen: NewRules, who: str) -> RulesView:
        """Put rules in force, and queue every trace to be judged by them."""
        proposed = self._propose(chosen.rules)
        policy, checks_on = proposed.policies[0], "on" if proposed.checks.stage.names else "off"

        def work(connection: Connection) -> None:
            keep_rules(connection, chosen, who)
            put_fact(connection, CHECKS_ON, checks_on)
            requeue_all(connection)
            put_due_days(connection, policy, pool_days(connection, policy))

        self._store.db.write(work)
        return self.view()

    def _propose(self, rules: CurationRules) -> InForce:
        """Make what would hold under these rules; raise where the settings hold something else, or a name is unknown."""
        parse_policy(rules.policy.model_dump(mode="json"), origin="rules")
        known = plugins.names("checks")
        for name in rules.checks_off:
            if name not in known:
                raise BadInput(f"checks_off: {describe_unknown('check', name, known)}")
        if (file := self._file_of_default()) and rules.policy != self.in_force.policies[0]:
            raise Refused(
                f"the policy {DEFAULT.name!r} is the one of {file}; change that file, or take it out of the settings"
            )
        if not left_open(self._settings) and rules.checks_on != builtin_on(self._settings, None):
            origin = self._origin("checks.builtin")
            raise Refused(f"{origin} says whether built-in checks run; take checks.builtin out of it to choose here")
        return InForce(self._store, self._settings, rules=rules)

    def _file_of_default(self) -> str:
        """Name the policy file that describes the policy `default`, if one does."""
        named = (path for path in self._settings.curation_policies if read_policy(Path(path)).name == DEFAULT.name)
        return next(named, "")

    def _origin(self, setting: str) -> str:
        return self._settings.origins.get(setting, "the settings")

    def _switches(self, rules: CurationRules) -> tuple[CheckSwitch, ...]:
        switches = []
        for name in plugins.names("checks"):
            held_off = self._origin("checks.off") if name in self._settings.checks_off else ""
            made = plugins.load_all("checks", [name], partial(plugins.load_with, "checks", settings=self._settings))
            does = " ".join(cleandoc(type(made.get(name)).__doc__ or "").split()) if made else "It cannot be made."
            on = not held_off and name not in rules.checks_off
            switches.append(CheckSwitch(name=name, does=does, on=on, held_off_by=held_off))
        return tuple(switches)

    def _kept_out(self, connection: Connection, in_force: InForce) -> KeptOut:
        policy = in_force.policies[0]
        return kept_out_of(connection, policy, in_force.curation.scope_of(policy), "", most=PREVIEWED)

    def _suppose(self, connection: Connection, current: InForce, proposed: InForce) -> KeptOut:
        """Check, gather and choose the newest traces as the proposed rules would."""
        traces = newest_traces(connection, PREVIEWED)
        _suppose_checks(connection, traces, current.checks.stage, proposed.checks.stage)
        policy = proposed.policies[0]
        scope = proposed.curation.scope_of(policy)
        if scope.limited:
            days = gather_traces(connection, policy, traces, scope.required)
            for day in sorted(days.union(days_of(connection, policy, traces))):
                choose_day(connection, policy, day)
        return self._kept_out(connection, proposed)


def _suppose_checks(connection: Connection, traces: list[str], current: CheckStage, proposed: CheckStage) -> None:
    """Give traces the scores of checks that would come on, without the slow ones, and take those that would go away."""
    gone = current.names - proposed.names
    drop_scores(connection, [(trace_id, CHECK_KEY + name) for trace_id in traces for name in gone])
    quick = frozenset(name for name, check in proposed.suite.checks.items() if not is_slow(check))
    seen = seen_by_checks(connection, traces)
    fresh = quick - current.names
    if fresh:
        outcomes = list(proposed.suite.run(turns_of(connection, [one for one in traces if one in seen]), fresh))
        put_checked(connection, outcomes, (), proposed.suite.identity)
    if proposed.names:
        proposed.put(connection, [one for one in traces if one not in seen], quick)


def _compare(now: KeptOut, then: KeptOut) -> tuple[ReasonChange, ...]:
    """Put the reasons of both beside each other; a sentence names the thresholds that would hold."""
    sentences = {each.code: each.reason for each in (*now.reasons, *then.reasons)}
    before, after = ({each.code: each.traces for each in kept.reasons} for kept in (now, then))
    rows = [
        ReasonChange(reason=sentence, now=before.get(code, 0), then=after.get(code, 0))
        for code, sentence in sentences.items()
    ]
    return tuple(sorted(rows, key=lambda row: -max(row.now, row.then)))
