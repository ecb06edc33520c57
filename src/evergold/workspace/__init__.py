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
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

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
    from evergold.review.case_actions import CaseActions
    from evergold.store import Store
    from evergold.upkeep.archives import Archives
    from evergold.upkeep.backups import Backups
    from evergold.upkeep.retention import Retention
    from evergold.workspace.bench import Bench
    from evergold.workspace.cases import Cases
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
    from evergold.workspace.trajectories import Trajectories
    from evergold.workspace.uploads import Uploads


CLOSING_SECONDS = 3.0  # a server ends within five seconds of its last answer


class Workspace:
    """A place where data lives: a store, the settings it was opened with, and a facade per stage."""

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
    def serving(self) -> Iterator[None]:
        """Work on queued runs, on curation and on alerts, for as long as a server lives.

        When it ends, what still waits for the database gets a few seconds; the queues of both are tables and stay.
        """
        self.store.db.answer_soon()
        with self.bench.serving():
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @cached_property
    def intake(self) -> "Intake":
        from evergold.workspace.intake import Intake

        return Intake(self.store, self.settings)

    @cached_property
    def case_actions(self) -> "CaseActions":
        from evergold.review.case_actions import CaseActions

        return CaseActions(self.store)

    @cached_property
    def access(self) -> "Access":
        from evergold.workspace.operations import Access

        return Access(self.store)

    @cached_property
    def backups(self) -> "Backups":
        """Backups of the whole workspace; restoring one needs no database."""
        from evergold.build.versions import files_of
        from evergold.upkeep.backups import Backups

        return Backups(self.settings, lambda: self.store, files_of)

    @cached_property
    def alerts(self) -> "Alerts":
        from evergold.alerts.service import Alerts

        return Alerts(self.store, self.settings)

    @cached_property
    def cases(self) -> "Cases":
        from evergold.workspace.cases import Cases

        return Cases(self.store)

    @cached_property
    def archives(self) -> "Archives":
        from evergold.upkeep.archives import Archives

        return Archives(self.store)

    @cached_property
    def retention(self) -> "Retention":
        """What leaves the workspace for good."""
        from evergold.upkeep.retention import Retention

        return Retention(self.store, self.settings)

    @cached_property
    def live(self) -> "Live":
        from evergold.workspace.live import Live

        return Live(self.store, self.settings, self.rules, type(self).open)

    @cached_property
    def rules(self) -> "RuleChanges":
        """The curation rules as people change them: preview, save, go back."""
        from evergold.curate.rules import RuleChanges

        return RuleChanges(self.store, self.settings)

    @cached_property
    def dataset(self) -> "DatasetCalls":
        """The living dataset under the names an app's own curation code has."""
        from evergold.workspace.dataset_calls import DatasetCalls

        return DatasetCalls(self.intake, self.live, self.cases)

    @cached_property
    def dataset_async(self) -> "AsyncDatasetCalls":
        from evergold.workspace.dataset_calls import AsyncDatasetCalls

        return AsyncDatasetCalls(self.dataset)

    @cached_property
    def review(self) -> "Review":
        from evergold.workspace.review import Review

        return Review(self.store, self.settings)

    @cached_property
    def uploads(self) -> "Uploads":
        """Files of traces and cases that come through the browser, and the sample data."""
        from evergold.workspace.uploads import Uploads

        return Uploads(self)

    @cached_property
    def repeats(self) -> "RepeatedQuestions":
        """Which cases of a dataset ask one question."""
        from evergold.build.repeats import RepeatedQuestions

        return RepeatedQuestions(self.store)

    @cached_property
    def overviews(self) -> "Overviews":
        from evergold.workspace.overview import Overviews

        return Overviews(self.store, self.live)

    @cached_property
    def frames(self) -> "Frames":
        """Traces, datasets and runs as tables of Arrow, pandas and Polars."""
        from evergold.workspace.frames import Frames

        return Frames(self.intake, self.cases, self.bench)

    @property
    def traces(self) -> "Frame":
        """All traces as a table: `ws.traces.to_pandas()`."""
        return self.frames.traces()

    @cached_property
    def operations(self) -> "Operations":
        """Readiness, backlog and size of the database."""
        from evergold.workspace.operations import Operations

        return Operations(self.store)

    @cached_property
    def bench(self) -> "Bench":
        from evergold.workspace.bench import Bench

        return Bench(self.settings, self.store)

    @cached_property
    def replays(self) -> "Replays":
        """Agent benchmarks from cases that can be replayed, and trajectories beside the record."""
        from evergold.workspace.replays import Replays

        return Replays(self.store, self.builds, self.bench)

    @cached_property
    def replay_users(self) -> "ReplayUsers":
        """Simulated users of cases: drafts, and what people made of them."""
        from evergold.bench.replay.users import ReplayUsers

        return ReplayUsers(self.store, self.settings)

    @cached_property
    def trajectories(self) -> "Trajectories":
        """Replayed trajectories beside the recorded ones, of a run, of two runs and of a case."""
        from evergold.workspace.trajectories import Trajectories

        return Trajectories(self.store, self.bench)

    @cached_property
    def builds(self) -> "Builds":
        from evergold.build.versions import Builds

        return Builds(self.settings, self.store)

    @cached_property
    def served_builds(self) -> "ServedBuilds":
        """Builds that a server makes for requests, without holding up answers or its own end."""
        from evergold.build.served import ServedBuilds

        return ServedBuilds(self.builds)

    @cached_property
    def rag(self) -> "RagBuilds":
        """RAG splits from offline files, and checks of any build on disk; needs no database."""
        from evergold.build.service import RagBuilds

        return RagBuilds(self.settings, lambda: self.builds)

    @cached_property
    def task_files(self) -> "TaskFileChecks":
        """Checks of benchmark files; needs no database."""
        from evergold.workspace.retrieval import TaskFileChecks

        return TaskFileChecks()

    @cached_property
    def flows(self) -> "Flows":
        """Context cases from agent work and git history; needs the database only to store them."""
        from evergold.extract.service import Flows

        return Flows(lambda: self.store)

    @cached_property
    def retrieval(self) -> "RetrievalScores":
        """Scores of retrieval predictions; needs no database."""
        from evergold.workspace.retrieval import RetrievalScores

        return RetrievalScores()

    @cached_property
    def generation(self) -> "Generation":
        """Offline datasets from documents."""
        from evergold.workspace.generation import Generation

        return Generation(self.settings)

    @cached_property
    def judging(self) -> "Judging":
        """Reports of runs, and calibration of judges."""
        from evergold.workspace.judges import Judging

        return Judging(self.store, self.settings)
