"""The SDK that an app imports: trace, span, score, correct. It never raises into the app and never makes it wait.

    import evergold

    eg = evergold.connect()                       # a workspace in this folder; or connect("http://127.0.0.1:8321")
    with eg.trace(input=question) as t:           # also `async with`
        with t.span("search", kind="tool") as s:
            s.output = found = search(question)
        t.output = answer(question, found)
        t.score("no_pii", 1.0)
    eg.score(t.id, "thumbs", 1.0, source="user")  # whenever it comes, days later too
    eg.correct(t.id, "The capital is Lima.")

Importing this pulls in no database and no web framework; those load in the background thread, and only where they
are needed (an embedded workspace).
"""

from evergold.sdk.client import Client, connect
from evergold.sdk.steps import RecordedSpan as Span
from evergold.sdk.steps import RecordedTrace as Trace

__all__ = ["Client", "Span", "Trace", "connect"]
