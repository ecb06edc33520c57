"""The content of cases that cite a trace: conversation, turn, tools and contexts, read from the trace's spans.

Curation writes a million entries at once and copies no conversation: a row with `whole = 0` is completed whenever it is
read, so its texts are stored once, with the trace, and a trace that grows brings its case up to date. A row becomes
whole when somebody changes the case, or when a trace that it is read from is about to be deleted.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection, select, update
from sqlalchemy.engine import RowMapping

from evergold.conversation import conversation_of, text_of
from evergold.conversation.printed import prints
from evergold.model.case import Case
from evergold.model.conversation import Conversation
from evergold.model.tool_calls import ToolCall, calls_in
from evergold.model.trace import Trace
from evergold.store.case_rows import body_of, case_of
from evergold.store.rows import tuples_among
from evergold.store.schema import eval_dataset
from evergold.store.sessions import Sessions, traces_with_spans
from evergold.store.values import batches, dumps

FROM_CONVERSATION = ("messages", "turn", "tools", "contexts")


def completed(connection: Connection, rows: Sequence[RowMapping], cases: Sequence[Case]) -> list[Case]:
    """The cases with the content of their traces, where their rows do not hold it."""
    # Whole rows hold everything themselves, so their traces are not read.
    wanted = {row["trace_id"] for row in rows if row["trace_id"] is not None and not row["whole"]}
    if not wanted:
        return list(cases)
    read = Contents(connection, wanted)
    return [
        case if row["whole"] or row["trace_id"] is None else read.completed(case, row["trace_id"])
        for row, case in zip(rows, cases, strict=True)
    ]


class Contents:
    """The conversations of some traces, each read once."""

    def __init__(self, connection: Connection, trace_ids: Iterable[str]) -> None:
        self._traces = traces_with_spans(connection, trace_ids)
        self._sessions = Sessions(connection)
        self._read: dict[str, Conversation] = {}

    def completed(self, case: Case, trace_id: str) -> Case:
        """The case with everything of its trace that it does not say itself."""
        trace = self._traces.get(trace_id)
        return case if trace is None else with_content(case, trace, self._conversation(trace))

    def calls_of(self, trace_id: str) -> tuple[ToolCall, ...]:
        """The tool calls that the turn of a trace made; none where the trace is not stored."""
        trace = self._traces.get(trace_id)
        return () if trace is None else calls_in(self._conversation(trace).turn)

    def _conversation(self, trace: Trace) -> Conversation:
        if trace.id not in self._read:
            self._read[trace.id] = conversation_of(trace, self._sessions.before, self._sessions.called_before)
        return self._read[trace.id]


def with_content(case: Case, trace: Trace, conversation: Conversation) -> Case:
    """Fill what is empty in a case from its trace; what the case says already stays."""
    fields: dict[str, Any] = {
        name: getattr(conversation, name)
        for name in FROM_CONVERSATION
        if not getattr(case, name) and getattr(conversation, name)
    }
    if "turn" in fields and not case.tool_calls:
        fields["tool_calls"] = calls_in(conversation.turn)
    # What the case says already wins over what is read from the trace.
    fields["metadata"] = _facts(conversation) | case.metadata
    extra = {"after": list(conversation.after), "problems": list(conversation.problems)}
    fields["extra"] = {name: value for name, value in extra.items() if value} | case.extra
    if case.provenance.user_id is None and trace.user_id is not None:
        fields["provenance"] = case.provenance.model_copy(update={"user_id": trace.user_id})
    # Only where nobody edited the text: a case that a person wrote may well be JSON on purpose.
    # A framework that names no question on its outermost span has it in the messages.
    if (is_raw(case.input) or not case.input) and case.input == trace.input and conversation.messages:
        fields["input"] = text_of(conversation.messages[-1]) or case.input
    answer = text_of(conversation.turn[-1]) if conversation.turn else ""
    if case.output == trace.output and answer and (is_raw(case.output) or prints(case.output, answer)):
        fields["output"] = answer
    return case.model_copy(update=fields)


def is_raw(text: str | None) -> bool:
    """Whether a text looks like the JSON of messages, which no person asked or answered with."""
    return bool(text) and str(text).lstrip()[:1] in ("{", "[")


def _facts(conversation: Conversation) -> dict[str, Any]:
    """Model, parameters, prompt name and version: how the answer came to be."""
    parameters = {name: value for name, value in conversation.parameters.items() if name != "model"}
    model = conversation.parameters.get("model")
    return ({"model": model} if model else {}) | ({"parameters": parameters} if parameters else {})


def keep_contents(connection: Connection, trace_ids: Sequence[str]) -> int:
    """Write down the content of cases that is read from these traces or their sessions, before they are deleted."""
    # Earlier turns may be read from other traces of the session, so cases of all of them are made whole.
    named = "SELECT DISTINCT session_id FROM traces WHERE session_id IS NOT NULL AND id"
    sessions = [row[0] for row in tuples_among(connection, named, trace_ids)]
    unwritten = "SELECT d.id FROM traces t JOIN eval_dataset d ON d.trace_id = t.id WHERE d.whole = 0 AND t."
    entries = {row[0] for row in tuples_among(connection, f"{unwritten}id", trace_ids)}
    entries |= {row[0] for row in tuples_among(connection, f"{unwritten}session_id", sessions)}
    for batch in batches(sorted(entries)):
        query = select(eval_dataset).where(eval_dataset.c.id.in_(batch))
        _keep(connection, connection.execute(query).mappings().all())
    return len(entries)


def _keep(connection: Connection, rows: Sequence[RowMapping]) -> None:
    read = Contents(connection, {row["trace_id"] for row in rows})
    for row in rows:
        case = read.completed(case_of(row, ()), row["trace_id"])
        values = {"body": body_of(case), "metadata": dumps(case.metadata), "whole": 1}
        connection.execute(update(eval_dataset).where(eval_dataset.c.id == row["id"]).values(values))
