"""Figures for operators: queues and the size of the database, traffic over time, alerts and their notifications."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from evergold.model.faults import Rejected
from evergold.model.report import Printable


class Backlog(BaseModel):
    """Work that waits: traces for curation, jobs for the writer, runs by status."""

    traces: int = 0
    lag_seconds: float = 0.0
    writes: int = 0
    runs: dict[str, int] = {}


class TableSize(BaseModel):
    """A table with its indexes; PostgreSQL only estimates the rows of a large one."""

    name: str
    bytes: int
    rows: int


class SlowQuery(BaseModel):
    """A statement that took long on the whole, as the database counts it."""

    calls: int
    mean_ms: float
    query: str


class OpenConnections(BaseModel):
    """Connections to a PostgreSQL database: how many are open of those it takes, and what they do."""

    open: int
    most: int
    active: int
    waiting_for_locks: int
    idle_in_transaction: int
    longest_transaction_seconds: float


class LockedTable(BaseModel):
    """A table of PostgreSQL that one session keeps all others out of: which session, its program, and for how long."""

    name: str
    session: int
    program: str
    seconds: float


class WorkUnderWay(BaseModel):
    """Work that one process holds by lease: who, since when, and until when if the lease is not renewed."""

    name: str
    owner: str
    since: str
    until: str


class DatabaseStatus(BaseModel):
    """Size, growth and age of a database, and who works on it."""

    engine: str
    bytes: int
    log_bytes: int | None = None
    tables: list[TableSize] = []
    traces: int = 0
    oldest: str | None = None
    newest: str | None = None
    traces_last_day: int = 0
    traces_last_week: int = 0
    bytes_per_trace: float | None = None
    slow_queries: list[SlowQuery] | None = None
    connections: OpenConnections | None = None
    locked: list[LockedTable] = []
    work: list[WorkUnderWay] = []

    @property
    def bytes_per_day(self) -> float | None:
        """Growth by what came in the last week."""
        return None if self.bytes_per_trace is None else self.traces_last_week / 7 * self.bytes_per_trace


class AlertKind(StrEnum):
    """What a rule watches."""

    FAILING_RATE = "failing_rate"
    INTAKE_STOPPED = "intake_stopped"
    DATASET_DROP = "dataset_drop"
    GATE_FAILED = "gate_failed"
    COVERAGE_LOW = "coverage_low"
    TOPIC_DRIFT = "topic_drift"


class DeliveryStatus(StrEnum):
    """How far a notification is. `superseded`: a later one of the same alert took its place before it was sent."""

    PENDING = "pending"
    SENT = "sent"
    GIVEN_UP = "given_up"
    SUPERSEDED = "superseded"


class AlertEvent(StrEnum):
    """What a notification says of its alert."""

    FIRING = "firing"
    REMINDER = "reminder"
    RESOLVED = "resolved"


class Reading(BaseModel, frozen=True):
    """What a rule found: whether it fires, in words and figures. `subject` is what of several things it is: a dataset, a run."""

    rule: str
    kind: AlertKind
    subject: str = ""
    firing: bool
    text: str
    details: dict[str, Any] = Field(default_factory=dict)


class AlertDelivery(BaseModel, frozen=True):
    """One notification to the webhook: how often it was tried, what the last answer was, when it is tried again."""

    id: int
    event: AlertEvent
    status: DeliveryStatus
    tries: int
    error: str
    next_try_at: str | None
    created_at: str
    sent_at: str | None


class Alert(BaseModel, frozen=True):
    """An alert and its notifications, newest first. It fires until `resolved_at`."""

    id: int
    rule: str
    kind: AlertKind
    subject: str
    text: str
    details: dict[str, Any]
    opened_at: str
    seen_at: str
    resolved_at: str | None
    deliveries: tuple[AlertDelivery, ...] = ()

    @property
    def firing(self) -> bool:
        return self.resolved_at is None


class AlertRuleState(BaseModel, frozen=True):
    """A rule as it is set: by the settings, which a page cannot change, or by people in this workspace."""

    name: str
    kind: AlertKind
    origin: Literal["settings", "workspace"] = "settings"
    limits: dict[str, Any] = {}
    muted_until: str | None = None


class AlertsState(BaseModel, frozen=True):
    """Rules, where alerts go, when a server last looked, and the alerts. `hint` says what to do when something is missing."""

    rules: list[AlertRuleState]
    webhook: str | None
    signed: bool
    looked_at: str | None
    hint: str | None
    alerts: list[Alert]


class AlertTest(BaseModel, frozen=True):
    """What each rule finds now, and what became of the test message; `sent` is null where no webhook is set."""

    readings: list[Reading]
    webhook: str | None
    sent: bool | None
    error: str
    seconds: float


class PluginState(BaseModel, frozen=True):
    """A plug-in: what is wrong with it now, if anything, and how often its calls failed since the workspace began."""

    group: str
    name: str
    package: str
    problem: str | None = None
    failed: int = 0


class Level(StrEnum):
    """How much a finding matters: fine, worth knowing, to be mended, or nothing can be looked at before it is mended."""

    FINE = "fine"
    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


class Finding(BaseModel, frozen=True):
    """One thing that `evergold doctor` looked at, and what to do where something is to be done."""

    area: str
    level: Level
    message: str
    todo: str | None = None


class Diagnosis(Printable, BaseModel, frozen=True):
    """What is wrong here and what to do; `ok` where nothing is to be done."""

    ok: bool
    findings: tuple[Finding, ...]

    def table(self) -> tuple[str, Sequence[str], list[tuple[object, ...]]]:
        title = "nothing to do" if self.ok else "something is to be done"
        rows: list[tuple[object, ...]] = [(one.level.value, one.area, one.message, one.todo) for one in self.findings]
        return title, ("", "area", "what", "to do"), rows


class DatabaseHealth(BaseModel, frozen=True):
    """A database as it lies there, before anybody opens it to work: its schema, its size, and what a quick check says."""

    engine: str
    schema_number: str | None
    current: str
    refused: str | None = None
    bytes: int = 0
    free_bytes: int = 0
    log_bytes: int = 0
    damage: str | None = None
    checked: bool = True


class CurationFailure(BaseModel, frozen=True):
    """A trace that could not be curated, and why."""

    trace_id: str
    error: str
    at: str


class Curated(Printable, BaseModel, frozen=True):
    """How many traces were looked at, what became of them by tier, the changes by kind, and how many wait now."""

    traces: int
    tiers: dict[str, int] = {}
    changes: dict[str, int] = {}
    waiting: int = 0

    def table(self) -> tuple[str, Sequence[str], list[tuple[object, ...]]]:
        waiting = f", {self.waiting} still wait" if self.waiting else ""
        return f"curated {self.traces} traces{waiting}", ("became", "traces"), list(self.tiers.items())


KEPT_PROBLEMS = 100


class IngestReport(Printable, BaseModel):
    """What became of the records sent: counts, and one line for each of the first problems."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    traces: int = 0
    spans: int = 0
    scores: int = 0
    corrections: int = 0
    reactions: int = 0
    duplicates: int = 0
    rejected: int = 0
    pending: int = 0
    problems: list[str] = Field(default_factory=list)

    def reject(self, rejected: Rejected | str) -> None:
        self.rejected += not (isinstance(rejected, Rejected) and rejected.is_note)
        if len(self.problems) < KEPT_PROBLEMS:
            self.problems.append(str(rejected))

    def add(self, other: "IngestReport") -> None:
        """Add what became of a further batch."""
        for name, number in other.counts().items():
            setattr(self, name, getattr(self, name) + number)
        self.problems += other.problems[: KEPT_PROBLEMS - len(self.problems)]

    def counts(self) -> dict[str, int]:
        return {name: value for name, value in vars(self).items() if isinstance(value, int)}

    def table(self) -> tuple[str, Sequence[str], list[tuple[str]]]:
        counted = ", ".join(f"{count} {name}" for name, count in self.counts().items() if count or name == "traces")
        return f"ingested: {counted}", ("problems",), [(problem,) for problem in self.problems]


class CuratorState(BaseModel, frozen=True):
    """What the background has done since the server started, and what it could not do."""

    running: bool
    curated: int
    changed: int
    failed: int
    last_error: str | None
    failures: list[CurationFailure]


class BackgroundState(BaseModel):
    """Whether curation runs in the background, what it has done, and what it could not do."""

    enabled: bool
    waiting: int
    failed_ever: int
    state: CuratorState | None


class SettingState(BaseModel, frozen=True):
    """A setting: its value (null where the caller's role may not see it), where the value comes from, and what it does."""

    name: str
    value: Any
    origin: str
    env: str
    doc: str


class EndpointState(BaseModel, frozen=True):
    """Where models or judges are called: the address and the key, each with where it comes from; empty: not set."""

    name: str
    address: str
    address_from: str
    key_from: str


class EndpointAnswer(BaseModel, frozen=True):
    """What a listing of models at an endpoint gave."""

    ok: bool
    message: str
    todo: str | None = None


class PriceList(BaseModel, frozen=True):
    """The list that calls are priced by."""

    source: str
    version: str
    models: int


class SettingsView(BaseModel, frozen=True):
    """What a workspace is set to."""

    version: str
    database: str
    judge: str
    settings: list[SettingState]
    endpoints: list[EndpointState]
    prices: PriceList


class RedactedText(BaseModel, frozen=True):
    """A text as it would be stored, and what was taken out of it, by kind."""

    text: str
    kinds: dict[str, int]
