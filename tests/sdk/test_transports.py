"""Delivery to a server: which answers lose a record for good, and which only put it off."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from evergold.sdk.steps import RecordedSpan, RecordedTrace, as_text, find_fault, score_value
from evergold.sdk.transports import Away, HttpTransport, group_by_kind
from tests.rows import each_row


class Server(HTTPServer):
    """Answers with `status`, or with 400 where a record says so; remembers what it was sent."""

    status = 200
    answer: bytes = b'{"problems": []}'

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[tuple[str, str | None, list[dict[str, Any]]]] = []


class Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append((self.path, self.headers["Authorization"], sent))
        bad = any(record.get("bad") for record in sent)
        answer = b'{"error": "bad record"}' if bad else self.server.answer
        self.send_response(400 if bad else self.server.status)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as opened:
        thread = threading.Thread(target=opened.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield opened
        opened.shutdown()
        thread.join()


def transport(server: Server, path: str = "", token: str = "") -> HttpTransport:
    return HttpTransport(f"http://127.0.0.1:{server.server_port}{path}", token)


TRACE: dict[str, Any] = {"type": "trace", "id": "t1"}
SCORE: dict[str, Any] = {"type": "score", "trace_id": "t1"}


def test_records_are_sent_by_kind_traces_first(server: Server) -> None:
    sender = transport(server, "/prefix/", "secret")
    assert sender.send([SCORE, TRACE, SCORE]) == []
    sender.close()
    assert [(path, len(sent)) for path, _, sent in server.seen] == [
        ("/prefix/api/v1/traces", 1),
        ("/prefix/api/v1/scores", 2),
    ]
    assert {token for _, token, _ in server.seen} == {"Bearer secret"}


def test_a_bad_record_sinks_no_other(server: Server) -> None:
    sender = transport(server)
    assert sender.send([TRACE, {**TRACE, "bad": True}, TRACE]) == ["bad record"]
    sender.close()
    assert [len(sent) for _, _, sent in server.seen] == [3, 1, 1, 1]


@pytest.mark.parametrize("status", [401, 403, 408, 425, 429, 502, 503])
def test_a_server_that_is_busy_or_wants_another_token_is_tried_again(server: Server, status: int) -> None:
    server.status = status
    sender = transport(server)
    with pytest.raises(Away, match=f"answered {status}"):
        sender.send([TRACE])
    sender.close()


def test_a_server_that_stumbles_over_records_is_not_away(server: Server) -> None:
    server.status = 500
    sender = transport(server)
    with pytest.raises(RuntimeError, match="answered 500"):
        sender.send([TRACE])
    sender.close()


@pytest.mark.parametrize("answer", [b"", b"<html>", b"[1]", b"{}"])
def test_an_answer_of_another_shape_is_taken_as_it_is_meant(server: Server, answer: bytes) -> None:
    server.answer = answer
    sender = transport(server)
    assert sender.send([TRACE]) == []
    sender.close()


def test_a_server_that_is_not_there_is_away() -> None:
    with Server() as closed:
        sender = transport(closed)
    with pytest.raises(Away):
        sender.send([TRACE])


def test_records_of_one_kind_stay_in_order() -> None:
    assert group_by_kind([SCORE, TRACE, {**SCORE, "n": 2}]) == {"trace": [TRACE], "score": [SCORE, {**SCORE, "n": 2}]}


class Sink:
    def __init__(self) -> None:
        self.handed: list[tuple[str, dict[str, Any]]] = []
        self.refused: list[str] = []

    def hand(self, kind: str, record: dict[str, Any], size: int) -> None:
        self.handed.append((kind, record))

    def refuse(self, why: str) -> None:
        self.refused.append(why)


def test_spans_belong_to_the_step_they_were_opened_in() -> None:
    sink = Sink()
    with RecordedTrace(sink, id="t1", input="Q", tags="one") as trace:
        with trace.span("outer", kind="agent") as outer, outer.span("inner", kind="tool") as inner:
            inner.output = {"a": 1}
        trace.output = "A"
    ((kind, record),) = sink.handed
    by_name = {span["name"]: span for span in record["spans"]}
    assert (kind, record["id"], record["tags"], record["status"]) == ("trace", "t1", ("one",), "completed")
    assert by_name["inner"]["parent_id"] == by_name["outer"]["id"] and by_name["outer"]["parent_id"] is None
    assert by_name["inner"]["output"] == '{"a":1}'


def test_an_exception_marks_the_step_as_failed_and_passes_on() -> None:
    sink = Sink()
    with pytest.raises(LookupError), RecordedTrace(sink) as trace:
        trace.score("ok", 0.5)
        raise LookupError("gone")
    ((_, record),) = sink.handed
    assert (record["status"], record["metadata"]["error"]) == ("failed", "LookupError: gone")
    assert record["input"] == "" and [score["name"] for score in record["scores"]] == ["ok"]


def test_what_comes_after_the_end_is_refused_or_sent_by_itself() -> None:
    sink = Sink()
    with RecordedTrace(sink, id="t1") as trace:
        late: RecordedSpan = trace.span("late")
    trace.end()
    late.end()
    trace.score("thumbs", 1.0, source="user")
    assert [kind for kind, _ in sink.handed] == ["trace", "score"]
    assert sink.handed[1][1]["trace_id"] == "t1"
    assert len(sink.refused) == 1 and "ended after its trace t1" in sink.refused[0]


def test_a_trace_outside_the_sample_does_nothing() -> None:
    with RecordedTrace(None) as trace:
        trace.score("ok", 2.0)
        with trace.span("x"):
            pass
    assert not trace.recorded


@each_row(
    ("trace_id", "name", "value", "source", "problem"),
    [
        ("", "ok", 1.0, "user", "names no trace"),
        ("t", "", 1.0, "user", "needs a name"),
        ("t", 5, 1.0, "user", "needs a name"),
        ("t", "ok", "high", "user", "is not a number from 0 to 1"),
        ("t", "ok", 1.5, "user", "is not a number from 0 to 1"),
        ("t", "ok", float("nan"), "user", "is not a number from 0 to 1"),
        ("t", "ok", 1.0, "robot", "use one of system, user, human, llm_judge"),
        ("t", "ok", True, "system", None),
    ],
)
def test_a_score_that_cannot_be_taken_says_why(
    trace_id: Any, name: Any, value: Any, source: Any, problem: str | None
) -> None:
    wrong = find_fault(trace_id, name, value, source)
    assert wrong is None if problem is None else wrong is not None and problem in wrong


def test_numbers_of_other_libraries_are_scores() -> None:
    import numpy as np

    assert score_value(np.float32(0.5)) == 0.5 and score_value("x") == "x" and score_value([1]) == [1]


@each_row(
    ("value", "text"), [(None, None), ("x", "x"), ({"a": 1}, '{"a":1}'), ({1: 2}, '{"1":2}'), (2**70, str(2**70))]
)
def test_any_input_or_output_is_a_text(value: Any, text: str | None) -> None:
    assert as_text(value) == text
