"""Figures for operators of a workspace: queues, and the size of the database."""

from pydantic import BaseModel


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
