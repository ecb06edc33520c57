"""Assemble the conversation of a trace: from the model call that gave its answer, else its root, else its session.

A title generator or a guard runs beside the answer and is not it: a model call counts when its output is the trace's. Also the
reply of a trace that states none, and the documents retrieved for an answer.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

from pydantic import TypeAdapter, ValidationError

from evergold.conversation.conventions import Exchange, exchange_of
from evergold.conversation.exchanges import CALLERS, choose_exchange, exchange_of_text, join_sides
from evergold.conversation.message import (
    INSTRUCTING,
    Message,
    as_json,
    decode_json,
    prints,
    repeats_error,
    text_of,
    unflatten,
)
from evergold.conversation.pairs import ids_of_lost_calls, is_cut, pair_results, restore_calls
from evergold.conversation.reader import instructions_in, messages_in
from evergold.conversation.tools import attributes_of, is_calls, messages_of_runs, tool_runs, tools_in, tools_of_runs
from evergold.model.case import Context, Conversation
from evergold.model.limits import Values, require_storable
from evergold.model.trace import Span, Trace, TraceStatus
from evergold.model.values import is_raw

FACTS = ("model", "provider", "prompt_name", "prompt_version")
PASSAGE_KEYS = ("content", "page_content", "pageContent", "text", "body", "snippet", "passage", "chunk", "document")
SOURCE_KEYS = ("source", "url", "uri", "doc_uri", "file_path", "path", "file_name", "filename", "file", "title", "link")
PASSAGE_LISTS = (
    *("documents", "contexts", "nodes", "source_nodes", "results", "matches", "output", "outputs", "docs"),
    "chunks",
)
NAMED_LISTS = ("documents", "contexts", "source_nodes", "source_documents", "nodes", "docs", "chunks", "context")
LISTS_OF_TEXTS = frozenset({"documents", "contexts", "source_documents"})
ANSWERING = frozenset({"llm", "tool", "event", "agent", "embedding"})
FLATTENED_DOCUMENTS = ("reranker.output_documents", "retrieval.documents")
DOCUMENT_ATTRIBUTES = ("gen_ai.retrieval.documents", "retrieval.documents", "db.query.result")
DEEPEST_PASSAGES = 5
# An object without a text, as Python prints it.
PRINTED = re.compile(r'[\s"\[]*<[A-Za-z_][\w.]*(?:\(| object at 0x)')
ANNOUNCED = re.compile(
    r"^[ \t]*(?:(?:your|new|current|user|the)\s+)?(?:task|question|query|request|input)[ \t]*:\s*\Z", re.I | re.M
)
STORABLE_VALUES: TypeAdapter[dict[str, Any]] = TypeAdapter(Values)

Earlier = Callable[[Trace], Sequence[Trace]]


def conversation_of(trace: Trace, earlier: Earlier = lambda _: (), called: Earlier = lambda _: ()) -> Conversation:
    """Read the conversation of a trace from its spans.

    `earlier` gives the traces of its session before it, oldest first, and `called` the same with their model calls; each
    is asked for only where the trace does not say it all.
    """
    spans = sorted(trace.spans, key=_start_of)
    runs = tool_runs(spans)
    exchange, source = choose_exchange(trace, spans)
    # Turns of an agent log hold only their own messages; what came before is in the traces of the session.
    if exchange is not None and trace.metadata.get("continues") is True:
        before = [message for one in earlier(trace) for message in _turn_of(one)]
        exchange.input = before + exchange.input
    if exchange is not None:
        failed = source is not None and source.status is TraceStatus.FAILED
        errors = _errors_in(spans) if trace.status is TraceStatus.FAILED and trace.output is None else []
        exchange.output = [
            message
            for message in exchange.output
            if not _is_blank(message, failed=failed) and not repeats_error(text_of(message), errors)
        ]
    if exchange is not None and ids_of_lost_calls(exchange.input):
        exchange.input = restore_calls(exchange.input, _earlier_calls(called(trace)))
    if exchange is not None and not _only_answers(exchange):
        whole, problems = pair_results(_append_answer(join_sides(exchange), trace), runs)
    else:
        own = _turn_of(trace)
        # Of a trace that says nothing the last answer of its session is not the answer.
        before = [message for one in earlier(trace) for message in _turn_of(one)] if own else []
        root = next((span for span in spans if span.parent_id is None), None)
        instructions = instructions_in(attributes_of(root).get("gen_ai.system_instructions")) if own and root else []
        # Rows of before 20 November 2026 may have them as the question, where nobody asked anything.
        instructions = [one for one in instructions if text_of(one).strip() != trace.input.strip()]
        known = any(message["role"] in INSTRUCTING for message in (*before, *own))
        whole, problems = pair_results([*([] if known else instructions), *before, *own], ())
    messages, turn, after = split_turn(_end_with_answer(whole, trace), trace.output)
    messages = _bare_question(messages, trace.input.strip())
    tools = list(exchange.tools) if exchange else []
    # The model call names its tools best; else the app, else a span above it.
    tools = tools or tools_in(trace.metadata.get("tools")) or _find_tools(spans, source) or tools_of_runs(runs)
    if source is not None and any(is_cut(text) for text in (source.input, source.output)):
        problems.append("a text was cut on arrival; raise server.max_text_kb to keep such texts whole")
    # Checked item by item already; what was read is not checked a second time.
    return Conversation.model_construct(
        messages=tuple(map(_make_storable, messages)),
        turn=tuple(map(_make_storable, turn)),
        after=tuple(map(_make_storable, after)),
        tools=tuple(map(_make_storable, tools)),
        contexts=tuple(contexts_of(spans, trace.metadata)),
        parameters=_make_storable(
            _facts_in(trace.metadata)
            | (exchange.parameters if exchange else {})
            | (_facts_in(source.metadata) if source else {})
        ),
        problems=tuple(dict.fromkeys(problems)),
    )


def _facts_in(metadata: Values) -> Values:
    return {key: metadata[key] for key in FACTS if metadata.get(key)}


def _errors_in(spans: Iterable[Span]) -> list[str]:
    failed = (span.metadata.get("error") for span in spans if span.status is TraceStatus.FAILED)
    return [error for error in failed if isinstance(error, str)]


def _earlier_calls(traces: Sequence[Trace]) -> list[Message]:
    """The messages of earlier traces that call tools, the latest first."""
    calls = [span for one in traces for span in sorted(one.spans, key=_start_of) if span.kind in CALLERS]
    return [message for span in reversed(calls) for message in exchange_of(span).output if message.get("tool_calls")]


def _is_blank(message: Message, *, failed: bool) -> bool:
    """Whether a reply has no content at all; an empty text is an answer, unless the call failed."""
    content = message.get("content")
    return not message.get("tool_calls") and not message.get("extra") and (content is None or (failed and not content))


def _only_answers(exchange: Exchange) -> bool:
    """Whether an exchange has an answer alone: the question and the tools at work are then read from the trace around it."""
    return not exchange.input and len(exchange.output) == 1 and not exchange.output[0].get("tool_calls")


def split_turn(whole: Sequence[Message], output: str | None) -> tuple[list[Message], list[Message], list[Message]]:
    """What was to be answered, what the assistant then did, and what came after that.

    Nothing comes after it, unless the messages end with a user's that nobody answered: then the trace's answer is an
    earlier one, and the turn is that answer's.
    """
    end = len(whole)
    # Logs often end with a "thanks" that nobody answered; the answer of the trace then lies before it.
    if whole and whole[-1]["role"] == "user" and output:
        answer = output.strip()
        end = next(
            (
                number + 1
                for number in range(len(whole) - 1, -1, -1)
                if whole[number]["role"] == "assistant" and text_of(whole[number]).strip() == answer
            ),
            end,
        )
    asked = next((number + 1 for number in range(end - 1, -1, -1) if whole[number]["role"] == "user"), None)
    if asked is None:
        # No user at all: everything behind the instructions is the assistant's.
        asked = next((number for number in range(end) if whole[number]["role"] not in INSTRUCTING), end)
    return list(whole[:asked]), list(whole[asked:end]), list(whole[end:])


def texts_of(trace: Trace, conversation: Conversation) -> tuple[str, str | None]:
    """Give question and answer as the case of a trace holds them: the trace's own, unless it has the JSON of messages.

    A framework that names no question on its outermost span has it in the messages. Words of the user behind the answer are
    not what was answered.
    """
    question, answer = trace.input, trace.output
    asked = conversation.messages[-1] if conversation.messages else {}
    text = question.strip()
    closing = any(message["role"] == "user" and text_of(message).strip() == text for message in conversation.after)
    # Of several turns below a span that says nothing the first question is the trace's, and the last answer.
    silent = any(span.parent_id is None and not span.input for span in trace.spans)
    earlier = silent and any(
        one["role"] == "user" and text_of(one).strip() == text and reply["role"] == "assistant" and text_of(reply)
        for one, reply in pairwise(conversation.messages)
    )
    if asked.get("role") == "user" and (not text or is_raw(question) or closing or earlier):
        question = text_of(asked)
    last = conversation.turn[-1] if conversation.turn else {}
    # A turn that ends with a tool's result has no answer in it.
    reply = text_of(last) if last.get("role") == "assistant" else ""
    if reply and (is_raw(answer) or prints(answer, reply) or (answer or "").strip() == reply.strip()):
        answer = reply
    return question, answer


def _start_of(span: Span) -> tuple[str, int, str]:
    """When a span began; of several without a time, `call-9` comes before `call-10`."""
    return (span.started_at.isoformat() if span.started_at else "", len(span.id), span.id)


def _append_answer(messages: list[Message], trace: Trace) -> list[Message]:
    """The messages with the trace's answer at their end, where none of them says it."""
    if not trace.output:
        return messages
    # A call with its results behind it is not yet the answer.
    if messages and messages[-1]["role"] == "assistant":
        return messages
    called = [call["function"]["name"] for message in messages for call in message.get("tool_calls", ())]
    if is_calls(trace.output, called):
        return messages
    answer = trace.output.strip()
    if any(message["role"] == "assistant" and text_of(message).strip() == answer for message in messages):
        return messages
    return [*messages, {"role": "assistant", "content": trace.output}]


def _bare_question(messages: list[Message], question: str) -> list[Message]:
    """The messages with the question as the person asked it, without the word that a framework writes before it.

    The same word goes from the questions before it; what stands around a line with the question alone are instructions.
    """
    text = text_of(messages[-1]).strip() if messages and messages[-1]["role"] == "user" else ""
    # A short question may stand in the words around it, too: the last and the first place are looked at.
    for number in {text.rfind(question), text.find(question)} - {-1, 0} if question else ():
        announced, behind = ANNOUNCED.search(text, 0, number), text[number + len(question) :]
        if announced is not None and behind[:1] in ("", "\n"):
            break
    else:
        return messages
    word = announced[0]
    around = "\n\n".join(part.strip() for part in (text[: announced.start()], behind) if part.strip())
    instructions = [{"role": "system", "content": around}] if around else []
    before = [
        {**one, "content": one["content"].removeprefix(word)}
        if one["role"] == "user" and isinstance(one.get("content"), str)
        else one
        for one in messages[:-1]
    ]
    return [*before, *instructions, {**messages[-1], "content": question}]


def _end_with_answer(whole: list[Message], trace: Trace) -> list[Message]:
    """The messages without what a tool gave back that the agent answers by: the answer is what it was called with."""
    last = next((number for number in range(len(whole) - 1, -1, -1) if whole[number]["role"] != "tool"), -1)
    calls = list(whole[last].get("tool_calls", ())) if last >= 0 else []
    if (
        trace.output
        and last + 1 < len(whole)
        and len(calls) == 1
        and states_answer(calls[0]["function"]["arguments"], trace.output)
    ):
        return whole[: last + 1]
    return whole


def states_answer(given: str, answer: str) -> bool:
    """Whether a tool was called with the answer."""
    arguments = decode_json(given)
    texts = [value for value in arguments.values() if isinstance(value, str)] if isinstance(arguments, dict) else []
    return bool(answer.strip()) and any(text.strip() == answer.strip() for text in texts)


def _turn_of(trace: Trace) -> list[Message]:
    """One trace as a turn of its session: its own messages, or the question, the tools at work, the answer."""
    if given := messages_in(trace.metadata.get("messages"), "input"):
        return _append_answer(given, trace)
    exchange = None if trace.input.lstrip()[:1] not in ("{", "[") else exchange_of_text(trace)
    asked: list[Message] = (
        exchange.input if exchange else [{"role": "user", "content": trace.input}] if trace.input else []
    )
    runs = tool_runs(sorted(trace.spans, key=_start_of))
    done = messages_of_runs([run for run in runs if not trace.output or not states_answer(run.arguments, trace.output)])
    spoken = trace.output and not is_calls(trace.output, [run.name for run in runs])
    answer: list[Message] = [{"role": "assistant", "content": trace.output}] if spoken else []
    return [*asked, *done, *answer]


def _find_tools(spans: Sequence[Span], source: Span | None) -> list[dict[str, Any]]:
    """Tools from the spans around, where the model call does not name them: those above it, then records logged beside it."""
    by_id = {span.id: span for span in spans}
    above: list[Span] = []
    parent = by_id.get(source.parent_id or "") if source else None
    # `not in above` ends the walk where parents form a circle, which broken exporters send.
    while parent is not None and parent not in above:
        above.append(parent)
        parent = by_id.get(parent.parent_id or "")
    beside = [span for span in spans if source and span.kind == "event" and span.parent_id == source.parent_id]
    for span in (*above, *reversed(beside)):
        if offered := exchange_of(span).tools:
            return offered
    return []


def _make_storable(values: dict[str, Any]) -> dict[str, Any]:
    """The values, unless they are nested deeper or more than can be kept: then as JSON text, so that nothing is lost."""
    # Most messages are a role and a text, whose size was limited when they came.
    if len(values) == 2 and isinstance(values.get("content"), str):
        return values
    try:
        require_storable(values)
    except ValueError:
        return {"role": str(values.get("role", "")), "content": as_json(values), "extra": {"as_text": True}}
    return values


def reply_of(trace: Trace) -> str | None:
    """Read the reply of a completed trace from its messages, else from its last model call; calls alone become JSON."""
    if trace.output is not None or trace.status is not TraceStatus.COMPLETED:
        return trace.output
    if given := messages_in(trace.metadata.get("messages"), "input"):
        return _reply_text(given)
    calls = [span for span in trace.spans if span.kind in CALLERS]
    if not calls:
        return None
    ends = [span.ended_at or span.started_at for span in calls]
    moments = [moment for moment in ends if moment is not None]
    # Times are compared only where every call has one; otherwise the order of arrival decides.
    last = calls[-1] if len(moments) < len(calls) else calls[ends.index(max(moments))]
    return _reply_text(exchange_of(last).output) or last.output


def _reply_text(messages: Sequence[Message]) -> str | None:
    """The text, or the calls, of the last assistant message: a dialogue may end with the user's words."""
    for message in reversed(messages):
        if message["role"] == "assistant":
            calls = [call["function"] for call in message.get("tool_calls", ())]
            listed = [{"name": call["name"], "arguments": decode_json(call["arguments"])} for call in calls]
            return text_of(message) or (as_json(listed) if listed else None)
    return None


def contexts_of(spans: Iterable[Span], metadata: dict[str, Any]) -> list[Context]:
    """The passages of a trace, each once, in the order they were retrieved; those of the trace's own line first.

    A reranker's choice stands for what it chose from.
    """
    given = documents_in(metadata.get("contexts")) if metadata.get("contexts") else []
    retrieved: list[Any] = []
    reranked: list[Any] = []
    for span in spans:
        (reranked if span.kind == "reranker" else retrieved).extend(_documents_of(span))
    seen: dict[str, Context] = {}
    for document in given or reranked or retrieved:
        context = _context(document)
        # The same passage from another source is another context; without a text the whole document is compared.
        seen.setdefault(as_json([context.text, context.source]) if context.text else as_json(document), context)
    return list(seen.values())


def _documents_of(span: Span) -> list[Any]:
    if listed := span.metadata.get("contexts"):
        return documents_in(listed)
    attributes = attributes_of(span)
    for prefix in FLATTENED_DOCUMENTS:
        if listed := unflatten(attributes, prefix):
            return [item.get("document", item) if isinstance(item, dict) else item for item in listed]
    for key in DOCUMENT_ATTRIBUTES:
        if documents := documents_in(attributes.get(key)):
            return documents
    if listed := span.metadata.get("documents"):
        return documents_in(listed)
    if span.kind not in ("retriever", "reranker"):
        return [] if span.kind in ANSWERING else _listed_passages(span.output)
    # Only of retrievers: the output of any other span is an answer, not a passage.
    outputs = ("output.value", "traceloop.entity.output", "mlflow.spanOutputs", "langfuse.observation.output")
    for value in (*(attributes.get(key) for key in outputs), span.output):
        if documents := documents_in(value):
            return documents
    return [span.output] if span.output and not is_raw(span.output) and not PRINTED.match(span.output) else []


def documents_in(value: Any, depth: int = 0) -> list[Any]:
    """The documents in a list, or in the object a retriever wraps them in."""
    document = decode_json(value)
    if depth > DEEPEST_PASSAGES:
        return []
    if isinstance(document, list):
        # Retrievers that take several questions give a list for each; there was one.
        if len(document) == 1 and isinstance(document[0], list):
            return documents_in(document[0], depth + 1)
        passages = [item for item in document if not (isinstance(item, str) and PRINTED.match(item))]
        return [decode_json(item) for item in passages if isinstance(item, dict | str)]
    if isinstance(document, dict):
        for key in PASSAGE_LISTS:
            if isinstance(inner := decode_json(document.get(key)), list | dict) and (
                documents := documents_in(inner, depth + 1)
            ):
                return documents
        if any(isinstance(document.get(key), str) for key in PASSAGE_KEYS):
            return [document]
    return []


def _listed_passages(output: str | None) -> list[Any]:
    """The passages that a step lists in its output: by a name that means documents, or each with its score."""
    document: Any = decode_json(output) if is_raw(output) else None
    scored = documents_in(document) if isinstance(document, list) else []
    if scored and all(isinstance(item, dict) and "score" in item and _context(item).text for item in scored):
        return scored
    for key in NAMED_LISTS if isinstance(document, dict) else ():
        items = documents_in(document.get(key))
        # The chunks of a streamed answer are texts too.
        if items and all(_context(item).text if isinstance(item, dict) else key in LISTS_OF_TEXTS for item in items):
            return items
    return []


def _context(document: Any) -> Context:
    if not isinstance(document, dict):
        return Context(text=str(document))
    inner = document
    # LlamaIndex wraps a passage in a node, Milvus in an entity, Qdrant in a payload; LangChain serialises its constructor's
    # arguments.
    for key in ("document", "node", "kwargs", "entity", "payload"):
        if isinstance(wrapped := document.get(key), dict):
            inner = wrapped
            break
    metadata = decode_json(inner.get("metadata", inner.get("meta")))
    metadata = metadata if isinstance(metadata, dict) else {}
    # Pinecone has the text among the metadata.
    texts = (where[key] for where in (inner, metadata) for key in PASSAGE_KEYS if isinstance(where.get(key), str))
    text = next(texts, None)
    fields = (inner, metadata, document)
    source = next((where[key] for where in fields for key in SOURCE_KEYS if isinstance(where.get(key), str)), None)
    ident = next(
        (where[key] for where in fields for key in ("id", "doc_id", "id_") if where.get(key) is not None), None
    )
    if source is None and isinstance(ident, str | int):
        source = str(ident)
    score = next(
        (
            where[key]
            for where in (document, inner)
            for key in ("score", "relevance_score", "similarity")
            if key in where
        ),
        None,
    )
    rest = {"id": ident, "score": score, "metadata": metadata}
    retrieved = {key: value for key, value in rest.items() if value not in (None, {})}
    return Context(text=text, source=source, retrieved=_keep_shallow(retrieved))


def _keep_shallow(values: dict[str, Any]) -> dict[str, Any] | None:
    try:
        STORABLE_VALUES.validate_python(values)
    except ValidationError:
        return {key: value for key, value in values.items() if not isinstance(value, dict | list)} or None
    return values or None
