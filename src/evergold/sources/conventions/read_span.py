"""Read a span, in whichever convention it is written: one table of names per question, newest and most exact name first.

OpenTelemetry's gen_ai exists in three generations: numbered attributes (`gen_ai.prompt.0.content`), span events
(`gen_ai.user.message`, `gen_ai.choice`), and JSON attributes (`gen_ai.input.messages`). OpenInference, OpenLLMetry,
Langfuse, the Vercel AI SDK, MLflow and Pydantic AI each add their own. A new convention is a few lines here.

The tables hold over a hundred names, a span has a dozen, and an app sends thousands of spans with the same dozen. So `plan_for`
narrows the tables to the names that are there, once for each set of names.

`content_of` gives intake what was read of a span and what it carried; `line_of` gives the readers of files the same as a record.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass, field, fields
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple

from evergold.conversation.message import (
    CHOICE,
    FOREIGN_WORDS,
    INSTRUCTING,
    as_json,
    count_asked,
    final_output,
    is_numbered,
    lists_calls,
    names_of_side,
    split_thinking,
    unflatten,
)
from evergold.model.trace import ScoreLine, ScoreSource, SpanLine, TraceStatus
from evergold.sources.conventions.messages import INPUT, OUTPUT, input_text, output_text, parse_json
from evergold.sources.conventions.scores import ANNOTATED, RESULT_EVENT, WireScore
from evergold.sources.spans import Attributes, WireEvent, WireSpan

MODEL = (
    "gen_ai.response.model",
    "gen_ai.request.model",
    "llm.response.model_name",
    "llm.model_name",
    "langfuse.observation.model.name",
    "ai.response.model",
    "ai.model.id",
)
PROVIDER = (
    "gen_ai.provider.name",
    "gen_ai.system",
    "llm.provider",
    "llm.system",
    "ai.model.provider",
    "mlflow.llm.provider",
)
TOKENS_IN = (
    "gen_ai.usage.input_tokens",
    "gen_ai.usage.prompt_tokens",
    "llm.token_count.prompt",
    "ai.usage.tokens",
)
TOKENS_OUT = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
)
TOKENS_ALL = ("gen_ai.usage.total_tokens", "llm.token_count.total", "llm.usage.total_tokens", "ai.usage.totalTokens")
USAGE_OBJECTS = ("langfuse.observation.usage_details", "mlflow.chat.tokenUsage")
COST = ("llm.cost.total", "gen_ai.usage.cost")
COST_PARTS = ("llm.cost.prompt", "llm.cost.completion")
# An app's own properties, an attribute each; it spells the names of its ids as it likes.
PROPERTIES = ("traceloop.association.properties.", "ai.telemetry.metadata.", "ai.settings.context.")
SESSIONS = (
    "session_id",
    "sessionId",
    "conversation_id",
    "conversationId",
    "thread_id",
    "threadId",
    "chat_id",
    "chatId",
)
SESSION = (
    "langfuse.session.id",
    "session.id",
    "gen_ai.conversation.id",
    *(prefix + name for prefix in PROPERTIES for name in SESSIONS),
    "mlflow.trace.session",
)
USER = (
    "langfuse.user.id",
    "user.id",
    "enduser.id",
    "enduser.pseudo.id",
    *(prefix + name for prefix in PROPERTIES for name in ("user_id", "userId")),
    "mlflow.trace.user",
    "mastra.metadata.resourceId",
)
TEXT_FACTS = {"user_id": USER}  # a fact of a span → the names it has; the first that is there is its text
TOOL = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
QUERY = ("gen_ai.retrieval.query.text",)
LISTED_INPUT = ("llm.input_messages", "gen_ai.prompt", "llm.prompts")
LISTED_OUTPUT = ("llm.output_messages", "gen_ai.completion", "llm.choices")
ARGUMENTS = frozenset(
    {"gen_ai.tool.call.arguments", "ai.toolCall.args", "tool_arguments", "gcp.vertex.agent.tool_call_args"}
)
JSON_INPUT = (
    "gen_ai.input.messages",
    "gen_ai.tool.call.arguments",
    "langfuse.observation.input",
    "ai.prompt.messages",
    "ai.prompt",
    "ai.toolCall.args",
    "ai.value",
    "ai.values",
    "tool_arguments",
    "mlflow.spanInputs",
    "traceloop.entity.input",
    "pydantic_ai.all_messages",
    "all_messages_events",
    "gen_ai.prompt",
    "gcp.vertex.agent.llm_request",
    "gcp.vertex.agent.tool_call_args",
    "request_data",
)
JSON_OUTPUT = (
    "gen_ai.output.messages",
    "gen_ai.tool.call.result",
    "langfuse.observation.output",
    "ai.toolCall.result",
    "tool_response",
    "mlflow.spanOutputs",
    "traceloop.entity.output",
    "gen_ai.completion",
    "gcp.vertex.agent.llm_response",
    "gcp.vertex.agent.tool_response",
    "response_data",
)
TEXT_OUTPUT = ("ai.response.text", "final_result")
WHOLE_RUNS = ("pydantic_ai.all_messages", "all_messages_events")
LATE_OUTPUT = ("ai.response.object", "ai.response.toolCalls", *WHOLE_RUNS)
BODIES = ("gen_ai.event.content", "body")
MESSAGE_EVENTS = ("gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message")
# In lower case: senders write CHAIN, chain and Chain.
KINDS = {
    **dict.fromkeys(("chat", "text_completion", "generate_content", "completion", "llm", "generation"), "llm"),
    **dict.fromkeys(("chat_model", "llm_call", "ai.generatetext.dogenerate", "ai.streamtext.dostream"), "llm"),
    **dict.fromkeys(
        ("llm_request", "model_generation", "ai.generateobject.dogenerate", "ai.streamobject.dostream"), "llm"
    ),
    **dict.fromkeys(("execute_tool", "tool", "tool_call", "ai.toolcall", "function"), "tool"),
    **dict.fromkeys(("invoke_agent", "create_agent", "agent", "agent_run", "agent_call"), "agent"),
    **dict.fromkeys(("embeddings", "embedding", "embed", "ai.embed.doembed", "ai.embedmany.doembed"), "embedding"),
    **dict.fromkeys(("retrieval", "retriever", "rag"), "retriever"),
    **dict.fromkeys(("chain", "workflow", "task", "invoke_workflow"), "chain"),
    **dict.fromkeys(("ai.generatetext", "ai.streamtext", "ai.generateobject", "ai.streamobject"), "chain"),
    **dict.fromkeys(("ai.embed", "ai.embedmany", "ai.rerank"), "chain"),
    "ai.rerank.dorerank": "reranker",
    "reranker": "reranker",
    "rerank": "reranker",
    "guardrail": "guardrail",
    "evaluator": "evaluator",
    "event": "event",
}
KIND = (
    "evergold.span.kind",
    "openinference.span.kind",
    "langfuse.observation.type",
    "gen_ai.operation.name",
    "ai.operationId",
    "traceloop.span.kind",
    "mlflow.spanType",
    "llm.request.type",
)
TAGS = ("tag.tags", "langfuse.trace.tags", "ai.telemetry.metadata.tags")
METADATA = ("metadata", "langfuse.trace.metadata", "langfuse.observation.metadata")
MESSAGE_TYPE = ("message_type", "message.type", "evergold.message_type")
OWN_NAME = ("ai.telemetry.functionId",)
# Metadata that is flattened into one attribute per key.
METADATA_PREFIXES = ("langfuse.trace.metadata.", *PROPERTIES)
DOCUMENTS = "retrieval.documents"
# Names that no table has say by their last word, or the last two, what they hold, unless they name something foreign.
NONE: frozenset[str] = frozenset()
WORDS = {
    "kind": frozenset(("span.type", "span.kind", "span_type")),
    "model": frozenset(("model", "model_name", "model_id", "model.name", "model.id")),
    "tokens_in": frozenset(("input_tokens", "prompt_tokens", "inputTokens", "promptTokens")),
    "tokens_out": frozenset(("output_tokens", "completion_tokens", "outputTokens", "completionTokens")),
    "usage": frozenset(("usage", "token_usage", "tokenUsage", "metrics")),
    "session": frozenset((*SESSIONS, "session.id", "conversation.id", "chat.id")),
    "tool": frozenset(("tool.name", "function_tool.name")),
}
CALL_FACTS = re.compile(r'"(?:usage(?:_metadata|Metadata)?|model)"\s*:')
OF_CALLS = frozenset(("messages", "contents", "choices", "usage", "usage_metadata", "usageMetadata"))
COUNTED_IN = ("input", "prompt_token_count", "promptTokenCount", *WORDS["tokens_in"])
COUNTED_OUT = ("output", "candidates_token_count", "candidatesTokenCount", *WORDS["tokens_out"])

Names = tuple[str, ...]

SELDOM = frozenset(
    (
        *(*COST, *COST_PARTS, *TOKENS_ALL, *TAGS, *OWN_NAME),
        *chain.from_iterable(TEXT_FACTS.values()),
        "langfuse.trace.name",
        "langfuse.observation.level",
        "langfuse.observation.cost_details",
        "langfuse.trace.input",
        "langfuse.trace.output",
        "gen_ai.retrieval.documents",
        *MESSAGE_TYPE,
    )
)
MOST_PLANS = 256  # sets of names that are remembered
LONGEST_NAMES = 4096  # characters of the names of a set that is remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributePlan:
    """Where to look in a span with certain names: each field is a table, narrowed to those.

    Of the names of a field the first that says something decides. `listed_input` and `listed_output` are the prefixes of
    flattened message lists. `own_input` and `own_output` are names of the framework's own. `seldom`, `annotated`: whether
    there is anything of what most spans do not say.
    """

    kind: Names = KIND
    model: Names = MODEL
    provider: Names = PROVIDER
    tokens_in: Names = TOKENS_IN
    tokens_out: Names = TOKENS_OUT
    usage: Names = USAGE_OBJECTS
    session: Names = SESSION
    tool: Names = TOOL
    stated_input: Names = (*JSON_INPUT, *QUERY)
    text_output: Names = TEXT_OUTPUT
    json_output: Names = JSON_OUTPUT
    late_output: Names = LATE_OUTPUT
    metadata: Names = METADATA
    prefixed: Names
    own_input: Names
    own_output: Names
    listed_input: Names
    listed_output: Names
    seldom: bool
    annotated: bool


TABLES: dict[str, Names] = {
    table.name: table.default for table in fields(AttributePlan) if table.default is not MISSING
}
READ_BY_NAME = SELDOM.union(*TABLES.values()) | {"input.value", "output.value"}
MODEL_FACTS = ("tokens_in", "tokens_out", "usage", "kind")
_plans: dict[Names, AttributePlan] = {}


def plan_for(attributes: Attributes) -> AttributePlan:
    """How to read a span with these attributes."""
    # The order is part of the key, which spares sorting: an app sends its names in one order.
    names = tuple(attributes)
    known = _plans.get(names)
    if known is None:
        known = _make_plan(names)
        if sum(map(len, names)) <= LONGEST_NAMES:
            # Generated attribute names would grow the table for ever; starting over is cheap for those in use.
            if len(_plans) >= MOST_PLANS:
                _plans.clear()
            _plans[names] = known
    return known


def _make_plan(names: Names) -> AttributePlan:
    there = frozenset(names)

    def list_names(table: Iterable[str]) -> Names:
        return tuple(prefix for prefix in table if is_numbered(prefix, names))

    others = [name for name in names if name not in READ_BY_NAME and not name.startswith(METADATA_PREFIXES)]
    paths = [(name, path) for name in others if FOREIGN_WORDS.isdisjoint(path := name.split("."))]
    narrowed: dict[str, Any] = {
        field: tuple(name for name in table if name in there)
        + tuple(name for name, path in paths if not WORDS.get(field, NONE).isdisjoint((path[-1], ".".join(path[-2:]))))
        for field, table in TABLES.items()
    }
    own_input, own_output = names_of_side(others, "input"), names_of_side(others, "output")
    # A model of anything else (a car) is on a span that says nothing about models.
    if not (own_input or own_output or any(narrowed[key] for key in MODEL_FACTS)):
        narrowed["model"] = tuple(name for name in narrowed["model"] if name in MODEL)
    return AttributePlan(
        **narrowed,
        own_input=own_input,
        own_output=own_output,
        prefixed=tuple(name for name in names if name.startswith(METADATA_PREFIXES)),
        listed_input=list_names(LISTED_INPUT),
        listed_output=list_names(LISTED_OUTPUT),
        seldom=bool(narrowed["usage"]) or not SELDOM.isdisjoint(there) or is_numbered(DOCUMENTS, names),
        annotated=bool(list_names(ANNOTATED)),
    )


MIME = (("input.value", "input.mime_type"), ("output.value", "output.mime_type"))
READ = (input_text, output_text)
SPEAKING = frozenset(("llm", "span"))  # kinds of spans whose output may be the reply of a model
TEXTS = (str, list, dict)
MOST_NAMED = 200  # characters of a line that names an error
ANSWER_FIELDS = (
    "content",
    "output",
    "answer",
    "choices",
    "messages",
    "result",
)  # beside an error: something was answered
NO_IDENT = re.compile(
    r"\s*(?:[\[<({*]+\s*(?:scrubbed|redacted|filtered|masked|removed|hidden)\b.*|redacted|filtered|none|null|undefined|nan|\*+|)\s*\Z",
    re.IGNORECASE | re.DOTALL,
)
EPOCH = datetime(1970, 1, 1)
# Fields of a parsed span that are stored in columns of their own, or apart.
NO_FACTS = ("kind", "input", "output", "texts")
EPOCH_UTC = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class ParsedSpan:
    """What a span says about itself and about its trace, with the convention's names left behind.

    `texts` holds the facts of `TEXT_FACTS` that it has.
    """

    kind: str = "span"
    input: str | None = None
    output: str | None = None
    model: str | None = None
    provider: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cost: float | None = None
    session_id: str | None = None
    tool: str | None = None
    trace_name: str | None = None
    trace_input: str | None = None
    trace_output: str | None = None
    tags: list[str] = field(default_factory=list)
    metadata: Attributes = field(default_factory=dict)
    documents: list[Attributes] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)


def read_span(span: WireSpan, plan: AttributePlan | None = None) -> ParsedSpan:
    """Read a span, as `names` say where its caller knows. Nothing is taken away: its attributes stay as they came."""
    attributes = span.attributes
    plan = plan or plan_for(attributes)
    kind = _kind(attributes, plan)
    parsed = ParsedSpan(
        kind,
        _input(attributes, span.events, plan),
        _output(attributes, span.events, plan, kind, failed=span.failed),
        _text(attributes, plan.model),
        _text(attributes, plan.provider),
        _count(_find_first(attributes, plan.tokens_in)),
        _count(_find_first(attributes, plan.tokens_out)),
        session_id=_ident(attributes, plan.session),
        # `traceloop.entity.name` and others name any entity; only of a tool's span it is a tool.
        tool=(_text(attributes, plan.tool) or span.name or None) if kind == "tool" else None,
    )
    if kind in SPEAKING and (parsed.model is None or parsed.input_tokens is parsed.output_tokens is None):
        replies = (*plan.json_output, *plan.own_output, "output.value")
        _read_documents(parsed, attributes, (*plan.stated_input, *plan.own_input, "input.value"), replies)
    if plan.metadata or plan.prefixed:
        parsed.metadata = _metadata(attributes, plan)
    if plan.seldom:
        _read_rare_fields(parsed, attributes, plan)
        if span.parent_id is None and parsed.trace_name is None:
            parsed.trace_name = _text(attributes, OWN_NAME)
        if attributes.get("langfuse.observation.level") == "ERROR":
            # Langfuse leaves the status of the span unset and says the error in an attribute of its own.
            span.failed = True
            span.status_message = span.status_message or _text(attributes, ("langfuse.observation.status_message",))
    if span.failed and parsed.output and _is_error(parsed.output, span):
        parsed.output = None
    return parsed


def _read_rare_fields(parsed: ParsedSpan, attributes: Attributes, plan: AttributePlan) -> None:
    """What most spans do not say: one look tells whether any of it is there."""
    usage = next((usage for key in plan.usage if (usage := _decode_object(attributes[key]))), {})
    _read_usage(parsed, usage)
    # The total is kept only where the parts are not both known; otherwise it could contradict their sum.
    if parsed.input_tokens is None or parsed.output_tokens is None:
        parsed.total_tokens = _count(_find_first({**usage, **attributes}, (*TOKENS_ALL, "total", "total_tokens")))
    parsed.cost = _amount(attributes)
    texts = ((fact, _ident(attributes, names)) for fact, names in TEXT_FACTS.items())
    parsed.texts = {fact: text for fact, text in texts if text is not None}
    parsed.trace_name = _text(attributes, ("langfuse.trace.name",))
    parsed.trace_input = input_text(attributes.get("langfuse.trace.input"))
    parsed.trace_output = output_text(attributes.get("langfuse.trace.output"))
    parsed.tags = _tags(attributes)
    # `setdefault`: the app's own metadata wins over an attribute.
    if (message_type := _text(attributes, MESSAGE_TYPE)) is not None:
        parsed.metadata.setdefault("message_type", message_type)
    parsed.documents = _documents(attributes)


def _kind(attributes: Attributes, plan: AttributePlan) -> str:
    """llm, tool, agent, retriever, embedding, chain, reranker, guardrail, evaluator; or plain span."""
    for key in plan.kind:
        value = attributes[key]
        if isinstance(value, str):
            kind = KINDS.get(value.strip('"').lower())
            if kind:
                return kind
    # Early gen_ai spans name no operation; a requested model or numbered prompts mean a model call.
    if "gen_ai.request.model" in attributes or "gen_ai.prompt.0.content" in attributes:
        return "llm"
    # A tool's name alone is that of the tool at work; with a model it was called.
    return "tool" if plan.tool and plan.tool != ("traceloop.entity.name",) and not plan.model else "span"


def _input(attributes: Attributes, events: list[WireEvent], plan: AttributePlan) -> str | None:
    # None: nothing is said so far; empty: the question has no text, so that nothing else stands for it.
    text = lone = None
    # Flattened messages first: they hold the roles, which a plain `input.value` beside them lacks.
    for prefix in plan.listed_input:
        listed = unflatten(attributes, prefix)
        text = text or input_text(listed)
        if text and _only_instructs(listed):
            text, lone = None, text  # the question stands elsewhere, if anywhere
    for key in plan.stated_input:
        if attributes[key] == "{}":
            lone = lone or attributes[key]  # arguments of a tool without any; another name may know better
        elif not text:
            stated = _arguments(attributes[key]) if key in ARGUMENTS else input_text(attributes[key])
            text = text if stated is None else stated
    if text is None and events:
        parsed = _event_messages(events, MESSAGE_EVENTS) or _event_value(
            events, "gen_ai.input.messages", "gen_ai.prompt"
        )
        text = input_text(parsed)
    if text is None:
        text = _mime_value(attributes, INPUT)
    for key in plan.own_input:
        text = input_text(attributes[key]) if text is None and isinstance(attributes[key], TEXTS) else text
    return text or lone


def _only_instructs(listed: Any) -> bool:
    """Whether a list of messages is one system prompt."""
    only = listed[0] if isinstance(listed, list) and len(listed) == 1 else None
    message = only.get("message", only) if isinstance(only, dict) else None
    return isinstance(message, dict) and message.get("role") in INSTRUCTING


def _arguments(value: Any) -> str | None:
    """What a tool was called with, as it was written: a single argument is not the question it happens to hold."""
    return value or None if isinstance(value, str) else as_json(value) if value is not None else None


def _output(
    attributes: Attributes, events: list[WireEvent], plan: AttributePlan, kind: str, *, failed: bool
) -> str | None:
    text = calls = None
    for prefix in plan.listed_output:
        listed = unflatten(attributes, prefix)
        text = text or output_text(listed)
        if lists_calls(listed):
            text, calls = None, text  # words may stand elsewhere
    for key in plan.text_output:
        if text is None and attributes[key]:
            text = str(attributes[key])
    for key in plan.json_output:
        text = output_text(attributes[key]) if text in (None, "{}") else text
    if text is None and events:
        messages = [event for event in events if event.name == CHOICE or event.name in MESSAGE_EVENTS]
        answers = messages[count_asked([event.name for event in messages]) :]
        parsed = [message_of(event) for event in answers] or _event_value(
            events, "gen_ai.output.messages", "gen_ai.completion"
        )
        text = output_text(parsed)
    if text is None:
        text = _mime_value(attributes, OUTPUT)
    for key in plan.own_output:
        stated = output_text(attributes[key]) if text is None and isinstance(attributes[key], TEXTS) else None
        # An object without a known text, and `null`, is what a step handed on, or the result of a tool.
        if stated and (kind == "tool" or stated != attributes[key] or (stated != "null" and stated[:1] not in "{[")):
            text = stated
    for key in plan.late_output:
        # The last answer among the messages of a run that failed is that of an earlier turn.
        if text is None and not (failed and key in WHOLE_RUNS):
            text = output_text(attributes[key])
    if text is None:
        text = calls
    elif text.rstrip().endswith(")"):
        text = final_output(text) or text
    return split_thinking(text)[1] if text and "<" in text else text


def _is_error(text: str, span: WireSpan) -> bool:
    """Whether what a failed span gives as its output is its error, which nobody answered."""
    document = parse_json(text)
    if isinstance(document, dict):
        return bool(document.get("error_message") or document.get("error")) and not any(
            map(document.get, ANSWER_FIELDS)
        )
    stated = span.status_message or _exception(span) or ""
    return bool(stated) and (
        text.strip() in stated or stated.rpartition(": ")[2] in text.partition("\n")[0][:MOST_NAMED]
    )


def _mime_value(attributes: Attributes, side: int) -> str | None:
    """OpenInference's `input.value`: looked into where it is declared JSON; an answer that happens to be JSON is text.

    A question that is an object is looked into in any case: it is what was passed to a function, which not all declare.
    """
    value_name, type_name = MIME[side]
    value = attributes.get(value_name)
    if value is None:
        return None
    declared = str(attributes.get(type_name, ""))
    if "json" in declared or not isinstance(value, str) or (side == INPUT and value[:1] == "{"):
        return READ[side](value)
    return value


def _event_messages(events: list[WireEvent], plan: tuple[str, ...]) -> list[Attributes]:
    return [message_of(event) for event in events if event.name in plan]


def message_of(event: WireEvent) -> Attributes:
    """The chat message a gen_ai event carries: its body's fields, or its attributes."""
    fields = {key: parse_json(value) for key, value in event.attributes.items()}
    # Azure's SDK and Koog put the body of the event into one JSON attribute.
    for key in BODIES:
        if isinstance(content := fields.get(key), dict):
            fields = content
    message = fields.get("message")
    if not isinstance(message, dict):
        message = {"content": message} if message is not None else fields
    role = event.name.removeprefix("gen_ai.").removesuffix(".message")
    return {"role": "assistant" if role == "choice" else role, **message}


def _event_value(events: list[WireEvent], *keys: str) -> Any:
    return next((event.attributes[key] for event in events for key in keys if key in event.attributes), None)


def _find_first(attributes: Attributes, keys: Names) -> Any:
    for key in keys:
        value = attributes.get(key)
        if value is not None and value != "":
            return value
    return None


def _text(attributes: Attributes, keys: Names) -> str | None:
    value = _find_first(attributes, keys)
    if isinstance(value, str) and value[:1] == '"':
        value = parse_json(value)  # MLflow writes every value as JSON
    return None if value is None else str(value)


def _ident(attributes: Attributes, keys: Names) -> str | None:
    """The first of these that names somebody: what a scrubber left, or a missing value as text, would join strangers."""
    for key in keys:
        ident = _text(attributes, (key,))
        if ident is not None and not NO_IDENT.match(ident):
            return ident
    return None


def _decode_object(value: Any) -> Attributes:
    """An object, out of `{"type": …, "value": …}` where it came so; an empty one for anything else."""
    document = parse_json(value)
    if isinstance(document, dict) and document.keys() == {"type", "value"}:
        document = parse_json(document["value"])
    return document if isinstance(document, dict) else {}


def _read_usage(parsed: ParsedSpan, usage: Attributes) -> None:
    if parsed.input_tokens is None:
        parsed.input_tokens = _count(_find_first(usage, COUNTED_IN))
    if parsed.output_tokens is None:
        parsed.output_tokens = _count(_find_first(usage, COUNTED_OUT))


def _read_documents(
    parsed: ParsedSpan, attributes: Attributes, requests: Iterable[str], replies: Iterable[str]
) -> None:
    """What a request and a reply that were kept whole say about the call, where no attribute does."""
    for key in (*replies, *requests):
        value = attributes.get(key)
        if not isinstance(value, str) or not CALL_FACTS.search(value):
            continue
        document = _decode_object(value)
        document = document if "body" not in document else _decode_object(document["body"])
        usage = _find_first(document, ("usage", "usage_metadata", "usageMetadata"))
        if key in replies and isinstance(usage, dict):
            _read_usage(parsed, usage)
        if parsed.model is None and isinstance(document.get("model"), str) and not document.keys().isdisjoint(OF_CALLS):
            parsed.model = document["model"]


def _count(value: Any) -> int | None:
    if type(value) is int and value >= 0:
        return value
    try:
        # Through float: senders write counts as "12" and 12.0.
        return None if value is None else max(0, int(float(value)))
    except (TypeError, ValueError, OverflowError):
        return None


def _amount(attributes: Attributes) -> float | None:
    """What the call cost, however it is written; where only its parts are told, their sum."""
    costs = parse_json(attributes.get("langfuse.observation.cost_details"))
    if isinstance(costs, dict):
        total, parts = costs.get("total"), list(costs.values())
    else:
        total, parts = _find_first(attributes, COST), [attributes.get(key) for key in COST_PARTS]
    whole = _money(total)
    if whole is not None:
        return whole
    known = [amount for amount in map(_money, parts) if amount is not None]
    return sum(known) if known else None


def _money(value: Any) -> float | None:
    try:
        amount = float(value)
    except (TypeError, ValueError):
        return None
    return amount if 0 <= amount < math.inf and not isinstance(value, bool) else None


def _tags(attributes: Attributes) -> list[str]:
    tags: list[str] = []
    for key in TAGS:
        value = parse_json(attributes.get(key))
        values = value if isinstance(value, list) else str(value).split(",") if value else []
        tags += [str(tag).strip() for tag in values if str(tag).strip()]
    return tags


def _metadata(attributes: Attributes, plan: AttributePlan) -> Attributes:
    metadata: Attributes = {}
    for key in plan.metadata:
        value = parse_json(attributes[key])
        if isinstance(value, dict):
            metadata.update(value)
    for key in plan.prefixed:
        prefix = next(prefix for prefix in METADATA_PREFIXES if key.startswith(prefix))
        metadata[key.removeprefix(prefix)] = parse_json(attributes[key])
    return metadata


def _documents(attributes: Attributes) -> list[Attributes]:
    listed = parse_json(attributes.get("gen_ai.retrieval.documents"))
    if not isinstance(listed, list):
        items = unflatten(attributes, DOCUMENTS)
        listed = [item.get("document", item) if isinstance(item, dict) else item for item in items]
    return list(_objects(listed))


def _objects(items: list[Any]) -> Iterator[Attributes]:
    for item in items:
        if isinstance(item, dict):
            yield {**item, "metadata": parse_json(item.get("metadata"))} if "metadata" in item else item


FACTS = tuple(field.name for field in fields(ParsedSpan) if field.name not in NO_FACTS)

_facts = attrgetter(*FACTS)


class SpanContent(NamedTuple):
    """What a span says: its texts, the facts that are stored by name, what it carried as it came, and whether it may
    hold scores."""

    kind: str
    name: str
    input: str | None
    output: str | None
    facts: dict[str, Any]
    raw: dict[str, Any]
    annotated: bool


def content_of(span: WireSpan) -> SpanContent:
    """Understand a span by the conventions."""
    plan = plan_for(span.attributes)
    parsed = read_span(span, plan)
    return SpanContent(
        parsed.kind,
        parsed.tool or span.name,
        parsed.input,
        parsed.output,
        facts_of(span, parsed),
        raw_of(span),
        plan.annotated or bool(span.events),
    )


def facts_of(span: WireSpan, parsed: ParsedSpan) -> dict[str, Any]:
    """What was understood of a span, by name; what it does not say is left out."""
    facts: dict[str, Any] = {
        # 0 tokens and 0 cost are facts; None, "" and empty lists say nothing.
        name: value
        for name, value in zip(FACTS, _facts(parsed), strict=True)
        if value is not None and (value or value == 0)
    }
    facts |= parsed.texts
    service = span.resource.get("service.name")
    if service or service == 0:
        facts["service"] = service
    if span.failed and (error := span.status_message or _exception(span)):
        facts["error"] = error
    return facts


def _exception(span: WireSpan) -> str | None:
    """The exception that a failed span recorded as an event, as `type: message`."""
    for event in span.events:
        if event.name == "exception":
            parts = [event.attributes.get(f"exception.{key}") for key in ("type", "message")]
            return ": ".join(str(part) for part in parts if part) or None
    return None


def raw_of(span: WireSpan) -> dict[str, Any]:
    """What the span carried. A text that became the input or output is stored once all the same: see `store.trace.compact`."""
    raw: dict[str, Any] = {"attributes": span.attributes, "resource": span.resource}
    if span.events:
        events = [
            {"name": event.name, "time": stamp_of(event.time_ns), "attributes": event.attributes}
            for event in span.events
            # Evaluation results are stored as scores, not a second time as events.
            if event.name != RESULT_EVENT
        ]
        if events:
            raw["events"] = events
    if span.scope:
        raw["scope"] = span.scope
    return raw


def stamp_of(nanoseconds: int) -> str | None:
    """The time as the store writes it, always with six digits so that texts sort; None for a time that was not given."""
    if not nanoseconds:
        return None
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return f"{_format_second(seconds)}.{rest // 1000:06d}Z"


# Spans of a batch share their seconds, so each date is formatted once.
@lru_cache(1024)
def _format_second(seconds: int) -> str:
    return (EPOCH + timedelta(seconds=seconds)).isoformat(timespec="seconds")


def line_of(span: WireSpan) -> SpanLine:
    """The span as a record of its own, for sources that read files."""
    parsed = read_span(span, plan_for(span.attributes))
    return SpanLine(
        trace_id=span.trace_id,
        id=span.span_id,
        parent_id=span.parent_id,
        name=parsed.tool or span.name,
        kind=parsed.kind,
        input=parsed.input,
        output=parsed.output,
        status=TraceStatus.FAILED if span.failed else TraceStatus.COMPLETED,
        started_at=_moment(span.start_ns),
        ended_at=_moment(span.end_ns),
        metadata=facts_of(span, parsed) | {key: value for key, value in raw_of(span).items() if value},
    )


def score_line(score: WireScore, comment: str | None) -> ScoreLine:
    return ScoreLine(
        trace_id=score.trace_id,
        name=score.name,
        value=score.value,
        source=ScoreSource(score.source),
        comment=comment,
        span_id=score.span_id,
        key=score.id,
        created_at=_moment(score.time_ns),
    )


def _moment(nanoseconds: int) -> datetime | None:
    try:
        return EPOCH_UTC + timedelta(microseconds=nanoseconds // 1000) if nanoseconds else None
    except OverflowError:
        raise ValueError(f"{str(nanoseconds)[:30]} is no time in nanoseconds since 1970") from None
