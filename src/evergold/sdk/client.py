"""The client: one per app, made by `connect`. Every verb hands a record to the background and returns."""

from itertools import islice
from pathlib import Path
from typing import Any

from evergold.model.values import hash_bytes, unit_interval
from evergold.sdk.delivery import CLOSE_SECONDS, Counts, Delivery, Spool
from evergold.sdk.steps import (
    RecordedSpan,
    RecordedTrace,
    as_text,
    current,
    find_fault,
    new_span_id,
    new_trace_id,
    score_value,
)
from evergold.sdk.transports import EmbeddedTransport, HttpTransport, Transport
from evergold.settings import Settings, load_settings
from evergold.storage import location

# What the queue of a process may hold before records are dropped: a server that is away must not fill an app's memory.
MAX_RECORDS = 10_000
MAX_BYTES = 64_000_000
MAX_SPOOL_BYTES = 512_000_000
SAMPLE_SALT = "trace:"


def connect(target: str | Path | None = None, *, token: str | None = None, **flags: Any) -> "Client":
    """Make a client of a server (`http://…`), or of the workspace in a folder (default: the one the settings name).

    `flags` override settings (`tracing_sample_rate=0.1`). Nothing is opened or contacted here.
    """
    url = str(target) if isinstance(target, str) and target.startswith(("http://", "https://")) else None
    if target is not None and url is None:
        flags["home"] = str(target)
    settings = load_settings(flags)
    transport: Transport = (
        HttpTransport(url, token if token is not None else settings.server_token)
        if url
        else EmbeddedTransport(settings)
    )
    # One spool for each server: records meant for one must not be delivered to another.
    name = hash_bytes((url or "embedded").encode()).removeprefix("sha256:")[:12]
    return Client(settings, transport, Spool(settings.home / "spool" / name, MAX_SPOOL_BYTES), url, token)


class Client:
    """Records traces, scores and corrections. No method that records ever raises or waits."""

    def __init__(
        self, settings: Settings, transport: Transport, spool: Spool, url: str | None, token: str | None
    ) -> None:
        self._settings, self._url, self._token = settings, url, token
        self._rate = settings.tracing_sample_rate if settings.tracing_enabled else 0.0
        self._delivery = Delivery(transport, spool, max_records=MAX_RECORDS, max_bytes=MAX_BYTES)

    def trace(
        self,
        *,
        input: Any = None,
        name: str = "",
        session_id: str | None = None,
        user_id: str | None = None,
        **more: Any,
    ) -> RecordedTrace:
        """Begin a trace. Further keys: `id`, `tags`, `metadata` (its `model` and `message_type` become tags)."""
        unknown = set(more) - {"id", "tags", "metadata"}
        if unknown:
            self._delivery.refuse(f"trace(): unknown keys {sorted(unknown)} were left out")
        trace_id = str(more.get("id") or new_trace_id())
        return RecordedTrace(
            self._delivery if self._is_sampled(trace_id) else None,
            id=trace_id,
            input=input,
            name=name,
            session_id=session_id,
            user_id=user_id,
            tags=more.get("tags"),
            metadata=more.get("metadata"),
        )

    def span(
        self, name: str = "", *, kind: str = "span", input: Any = None, metadata: dict[str, Any] | None = None
    ) -> RecordedSpan:
        """A step inside the trace or span this code runs in; outside of any it is recorded nowhere."""
        # The innermost step of this task or thread; without one, a trace that is recorded nowhere.
        parent = current.get()
        return (parent if parent is not None else RecordedTrace(None)).span(
            name, kind=kind, input=input, metadata=metadata
        )

    @property
    def current_trace(self) -> RecordedTrace | None:
        """The trace this code runs in."""
        step = current.get()
        return step if isinstance(step, RecordedTrace) or step is None else step._root

    def score(
        self,
        trace_id: str,
        name: str,
        value: float,
        *,
        source: str = "user",
        comment: str | None = None,
        key: str | None = None,
    ) -> None:
        """Say how good the reply of a trace was, from 0 to 1, whenever that becomes known."""
        value = score_value(value)
        if wrong := find_fault(trace_id, name, value, source):
            self._delivery.refuse(wrong)
        elif self._is_sampled(trace_id):
            record = {"trace_id": trace_id, "name": name, "value": value, "source": source, "comment": comment}
            # Sizes are estimates in bytes: measuring a record exactly would cost as much as writing it.
            self._delivery.hand("score", {**record, "key": key or new_span_id()}, 300)

    def correct(self, trace_id: str, text: str, *, author: str | None = None) -> None:
        """Say what the reply should have been."""
        content = as_text(text)
        if not trace_id or not content or not content.strip():
            self._delivery.refuse("a correction needs a trace and a text")
        elif self._is_sampled(trace_id):
            self._delivery.hand(
                "correction", {"trace_id": trace_id, "text": content, "author": author}, 300 + len(content)
            )

    def react(self, trace_id: str, emoji: str | None, *, author: str | None = None) -> None:
        """Put an emoji on a reply; None takes it away again."""
        if not trace_id:
            self._delivery.refuse("a reaction names no trace")
        elif self._is_sampled(trace_id):
            self._delivery.hand("reaction", {"trace_id": trace_id, "emoji": emoji, "author": author}, 300)

    def counts(self) -> Counts:
        """What became of every record so far."""
        return self._delivery.counts()

    def flush(self, timeout: float = 10.0) -> bool:
        """Wait until everything recorded is delivered or on the disk; False when the time was too short."""
        return self._delivery.flush(timeout)

    def close(self, timeout: float = CLOSE_SECONDS) -> None:
        """Deliver or spool the rest and stop. Happens by itself at exit."""
        self._delivery.close(timeout)

    def export_jsonl(self, path: Path | str, entry_type: str | None = None, *, limit: int | None = None) -> int:
        """Write the living dataset's entries, newest first; returns how many. Unlike recording, this may raise."""
        if self._url is not None:
            from evergold.formats.lines import write_lines
            from evergold.model.case import EntryType
            from evergold.sdk.server import Server

            server = Server(self._url, self._token or self._settings.server_token)
            kind = EntryType(entry_type) if entry_type else None
            query = {"dataset": "live", "format": "live-jsonl", "entry_type": kind}
            # As the server exports them: there each line has the integer of `eval_dataset` as its `id`.
            return write_lines(islice(server.read_lines("/cases/export", query), limit), location(path))
        from evergold.workspace import Workspace

        with Workspace.open(self._settings) as workspace:
            return workspace.dataset.export_to_jsonl(path, entry_type, limit)

    def _is_sampled(self, trace_id: str) -> bool:
        """Decide by a hash of the id, so that every score of a trace and every retry decide the same."""
        # Without hashing where everything or nothing is recorded.
        return self._rate >= 1.0 or (self._rate > 0.0 and unit_interval(f"{SAMPLE_SALT}{trace_id}") < self._rate)
