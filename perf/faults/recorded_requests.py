"""What real packages export, with some values twisted: conversations in every convention that is read."""

import json
import random
from functools import cache
from typing import Any

from perf.faults.otlp_requests import OtlpRequest
from perf.faults.server import JSON
from perf.faults.twisting import twisted
from tests.conversation.recorded_exchanges import exchanges


def draw(source: random.Random) -> tuple[OtlpRequest, str]:
    """A request and the id of its trace, whose conversation is then to be asked for."""
    trace_id = f"{source.getrandbits(128):032x}"
    document = json.loads(source.choice(_recorded()))
    for by_resource in document["resourceSpans"]:
        for by_scope in by_resource["scopeSpans"]:
            by_scope["spans"] = [_span(span, trace_id, source) for span in by_scope["spans"]]
    return OtlpRequest("/v1/traces", json.dumps(document).encode(), dict(JSON)), trace_id


def _span(span: dict[str, Any], trace_id: str, source: random.Random) -> dict[str, Any]:
    """The span under another trace; its ids and times stay good, so that what it holds is read."""
    held = {name: span[name] for name in ("attributes", "events") if span.get(name)}
    for _ in range(source.randint(0, 3)):
        name = source.choice(list(held) or ["attributes"])
        held[name] = twisted(held.get(name, []), source)
    return {**span, **held, "traceId": trace_id}


@cache
def _recorded() -> list[str]:
    return [path.read_text(encoding="utf-8") for path in exchanges()]
