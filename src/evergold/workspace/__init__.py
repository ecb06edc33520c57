"""The library's facade: one object per stage, one verb per thing to do. CLI, API and SDK call nothing else.

>>> from pathlib import Path
>>> from evergold import Score, Trace, Workspace
>>> from evergold.store.case.cases import CaseFilter
>>> good = Score(name="helpful", value=1.0, source="system")
>>> trace = Trace(id="t1", input="May I return boots?", output="Yes, within 30 days.", scores=[good])
>>> with Workspace.open() as ws:  # files: ws.intake.ingest([Path("traces.jsonl")])
...     _ = ws.intake.accept([trace])
...     _ = ws.live.curate()
...     ws.cases.export(CaseFilter(dataset="live"), "live-jsonl", Path("golden.jsonl"))
1
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

from evergold.settings import Settings, load_settings

if TYPE_CHECKING:
    from evergold.alerts.service import Alerts
    from evergold.bench.replay.users import ReplayUsers
    from evergold.build.repeats import RepeatedQuestions
    from evergold.build.served import ServedBuilds
    from evergold.build.service import RagBuilds
    from evergold.build.versions import Builds
    from evergold.curate.rules import RuleChanges
    from evergold.extract.service import Flows
    from evergold.formats.columns import Frame
    from evergold.model.access import Holder
    from evergold.model.case import Case
    from evergold.model.case_actions import Picked
    from evergold.model.review import CaseKey
    from evergold.model.upkeep import ProblemCases, StaleDecision
    from evergold.review.case_actions import CaseActions
    from evergold.store import Store
    from evergold.upkeep.archives import Archives
    from evergold.upkeep.backups import Backups
    from evergold.upkeep.coverage import SetCoverage
    from evergold.upkeep.problems import Problems
    from evergold.upkeep.retention import Retention
    from evergold.upkeep.review_order import ReviewOrder
    from evergold.upkeep.staleness import Staleness
    from evergold.upkeep.topics import Topics
    from evergold.workspace.bench import Bench
    from evergold.workspace.cases import Cases
    from evergold.workspace.configuration import Configuration
    from evergold.workspace.dataset_calls import AsyncDatasetCalls, DatasetCalls
    from evergold.workspace.frames import Frames
    from evergold.workspace.generation import Generation
    from evergold.workspace.intake import Intake
    from evergold.workspace.judges import Judging
    from evergold.workspace.live import Live
    from evergold.workspace.operations import Access, Operations
    from evergold.workspace.overview import Overviews
    from evergold.workspace.replays import Replays
    from evergold.workspace.retrieval import RetrievalScores, TaskFileChecks
    from evergold.workspace.review import Review
    from evergold.workspace.uploads import Uploads


T = TypeVar("T")
CLOSING_SECONDS = 3.0  # a server ends within five seconds of its last answer


class _Facade(Generic[T]):
    """Makes an object of a stage when it is first asked for, and loads its module.

    It is made of other attributes of the workspace: `name()` is a function that gives one, for what may do without it; `self`
    is the workspace.
    """

    def __init__(self, path: str, *needs: str) -> None:
        self._path, self._needs = path, needs

    def __set_name__(self, owner: type, attribute: str) -> None:
        self._attribute = attribute

    def __get__(self, workspace: "Workspace", owner: type) -> T:
        def take(need: str) -> Any:
            if need.endswith("()"):
                return partial(getattr, workspace, need[:-2])
            return workspace if need == "self" else getattr(workspace, need)

        module, _, name = self._path.partition(":")
        made: T = getattr(import_module(module), name)(*map(take, self._needs))
        # Found before this descriptor from now on.
        vars(workspace)[self._attribute] = made
        return made


class Workspace:
    """A place where data lives: a store, the settings it was opened with, and a facade per stage."""

    intake: "_Facade[Intake]" = _Facade("evergold.workspace.intake:Intake", "store", "settings")
    case_actions: "_Facade[CaseActions]" = _Facade("evergold.review.case_actions:CaseActions", "store")
    access: "_Facade[Access]" = _Facade("evergold.workspace.operations:Access", "store")
    alerts: "_Facade[Alerts]" = _Facade("evergold.alerts.service:Alerts", "store", "settings")
    configuration: "_Facade[Configuration]" = _Facade("evergold.workspace.configuration:Configuration", "settings")
    cases: "_Facade[Cases]" = _Facade("evergold.workspace.cases:Cases", "store", "settings")
    archives: "_Facade[Archives]" = _Facade("evergold.upkeep.archives:Archives", "store")
    retention: "_Facade[Retention]" = _Facade("evergold.upkeep.retention:Retention", "store", "settings")
    """What leaves the workspace for good."""
    rules: "_Facade[RuleChanges]" = _Facade("evergold.curate.rules:RuleChanges", "store", "settings")
    """The curation rules as people change them: preview, save, go back."""
    live: "_Facade[Live]" = _Facade("evergold.workspace.live:Live", "store", "settings", "rules", "open")
    dataset: "_Facade[DatasetCalls]" = _Facade(
        "evergold.workspace.dataset_calls:DatasetCalls", "intake", "live", "cases"
    )
    """The living dataset under the names an app's own curation code has."""
    dataset_async: "_Facade[AsyncDatasetCalls]" = _Facade(
        "evergold.workspace.dataset_calls:AsyncDatasetCalls", "dataset"
    )
    review: "_Facade[Review]" = _Facade("evergold.workspace.review:Review", "store", "settings", "review_order")
    repeats: "_Facade[RepeatedQuestions]" = _Facade("evergold.build.repeats:RepeatedQuestions", "store")
    """Which cases of a dataset ask one question."""
    overviews: "_Facade[Overviews]" = _Facade("evergold.workspace.overview:Overviews", "store", "live")
    topics: "_Facade[Topics]" = _Facade("evergold.upkeep.topics:Topics", "store")
    """What traces and cases ask, in groups."""
    coverage: "_Facade[SetCoverage]" = _Facade("evergold.upkeep.coverage:SetCoverage", "store", "topics")
    """How much of the traffic the golden cases cover."""
    problems: "_Facade[Problems]" = _Facade("evergold.upkeep.problems:Problems", "store", "topics")
    review_order: "_Facade[ReviewOrder]" = _Facade("evergold.upkeep.review_order:ReviewOrder", "store", "topics")
    staleness: "_Facade[Staleness]" = _Facade("evergold.upkeep.staleness:Staleness", "store")
    """Failures that recur in a topic."""
    frames: "_Facade[Frames]" = _Facade("evergold.workspace.frames:Frames", "intake", "cases", "bench")
    """Traces, datasets and runs as tables of Arrow, pandas and Polars."""
    operations: "_Facade[Operations]" = _Facade("evergold.workspace.operations:Operations", "store")
    """Readiness, backlog and size of the database."""
    bench: "_Facade[Bench]" = _Facade("evergold.workspace.bench:Bench", "settings", "store")
    replays: "_Facade[Replays]" = _Facade("evergold.workspace.replays:Replays", "store", "builds", "bench")
    """Agent benchmarks from cases that can be replayed, and trajectories beside the record."""
    replay_users: "_Facade[ReplayUsers]" = _Facade("evergold.bench.replay.users:ReplayUsers", "store", "settings")
    """Simulated users of cases: drafts, and what people made of them."""

    builds: "_Facade[Builds]" = _Facade("evergold.build.versions:Builds", "settings", "store")
    served_builds: "_Facade[ServedBuilds]" = _Facade("evergold.build.served:ServedBuilds", "builds")
    """Builds that a server makes for requests, without holding up answers or its own end."""
    task_files: "_Facade[TaskFileChecks]" = _Facade("evergold.workspace.retrieval:TaskFileChecks")
    """Checks of benchmark files; needs no database."""
    retrieval: "_Facade[RetrievalScores]" = _Facade("evergold.workspace.retrieval:RetrievalScores")
    """Scores of retrieval predictions; needs no database."""
    generation: "_Facade[Generation]" = _Facade("evergold.workspace.generation:Generation", "settings")
    """Offline datasets from documents."""
    uploads: "_Facade[Uploads]" = _Facade("evergold.workspace.uploads:Uploads", "self")
    """Files of traces and cases that come through the browser, and the sample data."""
    rag: "_Facade[RagBuilds]" = _Facade("evergold.build.service:RagBuilds", "settings", "builds()")
    """RAG splits from offline files, and checks of any build on disk; needs no database."""
    flows: "_Facade[Flows]" = _Facade("evergold.extract.service:Flows", "store()")
    """Context cases from agent work and git history; needs the database only to store them."""
    judging: "_Facade[Judging]" = _Facade("evergold.workspace.judges:Judging", "store", "settings")
    """Reports of runs, and calibration of judges."""

    def __init__(self, settings: Settings, store: "Store | None" = None) -> None:
        """Name a workspace. Without a store, the first facade that needs the database opens (or creates) it."""
        self.settings = settings
        # A store that is given takes the name of the cached property below, so nothing else is opened.
        if store is not None:
            self.store = store

    @cached_property
    def store(self) -> "Store":
        from evergold.checks.switch import keep_switch
        from evergold.store import Store

        store = Store.open(self.settings)
        keep_switch(store, self.settings)
        return store

    @classmethod
    def open(cls, settings: Settings | None = None, **flags: Any) -> Self:
        """Open (or create) the workspace the settings name; `flags` override them (`database_url=…`)."""
        workspace = cls(settings or load_settings(flags))
        _ = workspace.store  # a database that cannot be opened is an error here, not at the first use
        return workspace

    def curate_in_background(self) -> None:
        """From now until it is closed, what comes in is curated after the reply; unless the settings turn that off."""
        wake = self.live.start_background()
        # Intake knows nothing of curation: it calls whatever is set here after a commit.
        if wake is not None:
            self.intake.on_commit = wake

    @contextmanager
    def serve(self) -> Iterator[None]:
        """Work on queued runs, on curation and on alerts, for as long as a server lives.

        When it ends, what still waits for the database gets a few seconds; the queues of both are tables and stay.
        """
        self.store.db.wait_briefly_for_locks()
        with self.bench.serve():
            self.alerts.start()
            self.curate_in_background()
            try:
                yield
            finally:
                # Builds first: they hold the database longest and check between two cases whether the server ends.
                self.served_builds.stop()
                self.alerts.stop()
                self.store.db.close_within(CLOSING_SECONDS)

    def close(self) -> None:
        # A facade that was never asked for was never made, and asking for it here would open the database to close it.
        if "live" in vars(self):
            self.live.stop_background()
        if "intake" in vars(self):
            self.intake.close()
        if "store" in vars(self):
            self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @cached_property
    def backups(self) -> "Backups":
        """Backups of the whole workspace; restoring one needs no database."""
        from evergold.build.versions import files_of
        from evergold.upkeep.backups import Backups

        return Backups(self.settings, lambda: self.store, files_of)

    def fill_review(self, gaps: int, who: str) -> "list[Picked]":
        """Make cases of traces in topics that lack golden cases; they wait in the review queue of the dataset `gaps`."""
        from evergold.model.case_actions import Picking

        traces = self.coverage.gap_traces(gaps)
        if not traces:
            return []
        picking = Picking(trace_ids=tuple(traces), dataset="gaps", tags=("gap",), tier="candidate")
        return self.case_actions.pick(picking, who)

    def make_problem_cases(self, number: int, who: str) -> "ProblemCases":
        """Make regression cases of a problem's traces: a dataset of its own, whose name is its gate."""
        from evergold.model.case_actions import Picking
        from evergold.model.upkeep import ProblemCases

        problem, dataset = self.problems.get(number), f"problem-{number}"
        tags = ("regression", problem.reason)
        picking = Picking(trace_ids=tuple(problem.traces), dataset=dataset, tags=tags, tier="failure")
        picked = self.case_actions.pick(picking, who)
        self.problems.note_cases(number, dataset)
        return ProblemCases(problem=number, dataset=dataset, gate=dataset, added=sum(not one.problem for one in picked))

    def settle_stale(self, key: "CaseKey", decision: "StaleDecision", by: "Holder | str") -> "Case":
        """Record what a person makes of a stale reference: a verdict, with the reason as its comment."""
        from evergold.errors import BadInput
        from evergold.model.review import Decision, ReviewVerdict
        from evergold.model.upkeep import StaleAction

        because = self.staleness.reason(key.dataset, key.id).because
        replaces = decision.action is StaleAction.REPLACE
        if replaces != bool((decision.answer or "").strip()):
            raise BadInput("`replace` needs the answer that holds now, and no other decision takes one")
        verdict = ReviewVerdict.DISMISS if decision.action is StaleAction.RETIRE else ReviewVerdict.APPROVE
        changes = {"expected": decision.answer} if replaces else {}
        version, comment = self.review.case(key).case.version, f"{decision.action.value}: {because}"
        case = self.review.decide(key, Decision(version=version, verdict=verdict, comment=comment, changes=changes), by)
        self.staleness.settle(key.dataset, key.id, decision.action.value)
        return case

    @property
    def traces(self) -> "Frame":
        """All traces as a table: `ws.traces.to_pandas()`."""
        return self.frames.traces()
