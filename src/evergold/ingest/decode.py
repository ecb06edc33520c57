"""An OTLP request's bytes → arrivals. One function, whichever process runs it."""

from typing import TYPE_CHECKING, NamedTuple

from evergold import plugins
from evergold.ingest.prepare import PreparedSpans, prepare_request
from evergold.redact.bounded import BoundedRedactor
from evergold.redact.fields import FieldRedactor
from evergold.redact.keys import Keys
from evergold.settings import Settings
from evergold.sources.otlp import Wire, read_logs, read_traces

if TYPE_CHECKING:
    from evergold.seams import Redactor


class Request(NamedTuple):
    """What was sent, unpacked: `what` is traces or logs."""

    what: str
    wire: Wire
    body: bytes


class ReadingRules(NamedTuple):
    """What the settings say about reading: the redactor's name (empty: none), its fields, the longest text,
    and whether IP addresses are private."""

    redactor: str
    fields: tuple[str, ...]
    longest: int
    ip_addresses: bool = False


def rules_of(settings: Settings) -> ReadingRules:
    return ReadingRules(
        settings.redact_redactor,
        settings.redact_fields,
        settings.server_max_text_kb * 1000,
        settings.redact_ip_addresses,
    )


def _redactor_of(rules: ReadingRules) -> "Redactor | None":
    """Load the redactor; one that does not know IP addresses refuses the setting."""
    if not rules.redactor:
        return None
    redactor: Redactor = plugins.load(
        "redactors", rules.redactor, **({"ip_addresses": True} if rules.ip_addresses else {})
    )
    return BoundedRedactor(redactor, rules.redactor) if plugins.is_foreign(redactor) else redactor


class RequestReader:
    """Reads requests by rules. A redactor or a field that does not exist is said when it is made."""

    def __init__(self, rules: ReadingRules) -> None:
        self._rules = rules
        self._redactor: Redactor | None = _redactor_of(rules)
        self._keys = Keys(self._redactor)
        self.cleaner()

    @property
    def is_quick(self) -> bool:
        """Whether reading takes a time that is known: with a redactor of another package it is not."""
        return not isinstance(self._redactor, BoundedRedactor)

    def cleaner(self) -> FieldRedactor:
        """A redactor whose count of what it found begins at nothing."""
        return FieldRedactor(self._redactor, self._rules.fields, self._keys)

    def read(self, request: Request) -> PreparedSpans:
        """What a request holds, ready to be written; BadInput where it cannot be read at all."""
        if request.what == "traces":
            received = read_traces(request.body, request.wire)
        else:
            from evergold.sources.log_events import spans_of_logs

            received = spans_of_logs(read_logs(request.body, request.wire))
        return prepare_request(received, self.cleaner(), self._rules.longest, len(request.body))
