"""Find what a trace lacks to be evaluated at all, in the turn that its case would hold, and what to change in its exporter.

`may_lack` decides by the texts alone which traces are worth reading whole: most are plain questions with plain answers.
"""

import re
from collections.abc import Set as AbstractSet
from typing import Any

from evergold.conversation.assembly import states_answer, texts_of
from evergold.conversation.message import INSTRUCTING, decode_json, text_of
from evergold.conversation.tools import attributes_of, is_calls, tool_runs
from evergold.model.case import Conversation
from evergold.model.check import Turn
from evergold.model.trace import Gap, Span, Trace, TraceStatus
from evergold.model.values import is_raw

MODEL_CALLS = frozenset({"llm", "event"})
DOCUMENTS = "documents"  # among the kinds of a turn: some span of it lists documents
CALLS = "calls"  # likewise: the messages of a model call may hold calls of tools and their results
RETRIEVING = frozenset({"retriever", "reranker", DOCUMENTS})
STATED = frozenset({"messages", "contexts"})  # what the line of a trace may say of its conversation
NO_DIALOGUE = frozenset({"embedding", "reranker"})
STEPS = frozenset({"chain", "span", *NO_DIALOGUE})
OPERATIONS = ("gen_ai.operation.name", "mcp.method.name", "rpc.method")
BUILDING = frozenset({"create_agent", "create_assistant", "create_thread", "initialize"})
BUILDS = re.compile(r"(?:create|construct|build|load|list|init|initialize|initialise|register|setup)(?:[\W_]|$)", re.I)
# What a program puts in front of a tool's result that it sends in the name of the user.
OBSERVATION = re.compile(
    r"\s*(?:observation\s*:|tool[ _](?:result|output|response)\s*:|"
    r"<(?:tool_response|tool_result|function_results|observation)\b)",
    re.I,
)
BLANK_IN_TEMPLATE = re.compile(
    r"\{\{?\s*(?:user_?)?(?:question|query|input|message|context|chat_history|history)\s*\}?\}"
)
# Keys that frameworks write around a question or an answer, and that no app chooses for its own format.
WRAPPING = frozenset(
    {"messages", "new_message", "choices", "candidates", "generations", "tool_calls", "function_call", "kwargs", "args"}
    | {"lc", "return_values", "response_metadata", "additional_kwargs", "usage_metadata", "llm_output", "invocation_id"}
    | {"finish_reason", "stop_reason", "parts", "run_id", "state_delta", "session_id", "thread_id"}
)
CALL_AS_TEXT = re.compile(
    r"\s*(?:<\|?(?:tool_call|function_call|tool_calls|python_tag|invoke)\b|\[TOOL_CALLS\]|<function=|"
    r"Action:[^\n]{0,80}\n\s*Action Input:)"
)
# The last words of a reply that hands code or a call to its environment; what came of it is not there.
CALL_AT_END = re.compile(r"</(?:execute|tool_call|function_call|invoke|function_calls)>\s*\Z")
# Where JSON begins in a text, on a line of its own or behind a heading (`Action: {`).
JSON_IN_LINE = re.compile(r"^[ \t]*(?:\w[\w ]{0,24}:[ \t]*)?(?=[\[{])", re.M)
# A dict, or an object of a class, as Python prints it; nothing stands behind it.
PRINTED = re.compile(r"\s*(?:[\[(]?\{\s*'[^'\n]*'\s*:|(?:\w+\.)*[A-Z]\w*\([A-Za-z_]\w*=).*[\]})]\s*", re.S)
ADDRESS = re.compile(r'"<[\w. ]+ object(?: at 0x[0-9a-f]+)?>"')  # an object without a text, inside another
# What exporters write instead of a content that they keep to themselves.
MASKED = re.compile(
    r"\s*(?:HIDDEN:[\w-]+|[\[<_*]*(?:(?:response|content|message|text|output)[ _])?"
    r"(?:redacted|hidden|masked|filtered|elided|cleared|removed|omitted)[\]>_*]*)\s*",
    re.I,
)
# What a log leaves at the end of a text that it cut.
CUT = re.compile(
    r"[\[<(](?:\.{3} ?|… ?)?(?:truncated|(?:\d[\d,]* \w+ )(?:truncated|omitted))[^\n\]>)]{0,30}[\]>)]\s*\Z", re.I
)
NAMED_ONLY = ("file-service://", "sediment://")  # pictures in exports of ChatGPT, whose contents are other files
INSTRUCTS = ("You are ", "You're ", "Eres ", "Act as ")
LONG = 2000  # characters: so long a question may be a prompt that was filled in


def may_lack(turn: Turn) -> bool:
    """Whether a trace has to be read whole to tell; False where its texts show that it lacks nothing."""
    question, answer = turn.input, turn.output
    if not question or not answer or turn.tools or turn.incomplete or not STATED.isdisjoint(turn.metadata):
        return True
    if not turn.kinds.isdisjoint(RETRIEVING | {CALLS}):
        return True
    if (turn.kinds and MODEL_CALLS.isdisjoint(turn.kinds)) or len(question) > LONG or question.startswith(INSTRUCTS):
        return True
    return any(map(_is_suspicious, (question, answer))) or bool(
        OBSERVATION.match(question) or ("{" in question and BLANK_IN_TEMPLATE.search(question))
    )


def _is_suspicious(text: str) -> bool:
    shaped = (
        text.lstrip()[:1] in ("{", "[", "<", "(")
        or text.rstrip()[-1:] in (")", ">", "}", "]")
        or text.startswith("Action:")
    )
    return shaped or (len(text) < 40 and MASKED.fullmatch(text) is not None)


def gaps_of(trace: Trace, conversation: Conversation, *, last: bool = False) -> tuple[Gap, ...]:
    """Name what keeps a trace from being evaluated, whatever its scores; nothing where it is whole.

    `last`: no trace of its session follows. A user's words that close a session are no question that lacks its answer.
    """
    question, answer = texts_of(trace, conversation)
    masked = MASKED.fullmatch(question) is not None
    answer = None if answer and (MASKED.fullmatch(answer) or CUT.search(answer[-80:])) else answer
    if _builds_something(trace, question, answer) or (last and _closes_dialogue(trace, conversation, answer)):
        return (Gap.NO_INTERACTION,)
    lacking = {
        Gap.NO_QUESTION: masked
        or _rests_on_unsent(conversation)
        or (not question.strip() and not _shows_something(conversation)),
        Gap.NO_ANSWER: _has_no_answer(trace, conversation, answer),
        Gap.QUESTION_NOT_FROM_A_PERSON: bool(question.strip()) and not _is_from_a_person(question, trace, conversation),
        Gap.ENVELOPE: _is_envelope(question) or _is_wrapped_answer(answer or "", conversation),
        Gap.TOOLS_MISSING: _lacks_tools(trace, conversation),
    }
    return tuple(gap for gap, holds in lacking.items() if holds)


def _rests_on_unsent(conversation: Conversation) -> bool:
    """Whether the question shows a picture that the export only names."""
    content = conversation.messages[-1].get("content") if conversation.messages else None
    shown = [part.get("image_url") for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    return any(isinstance(one, dict) and str(one.get("url")).startswith(NAMED_ONLY) for one in shown)


def _builds_something(trace: Trace, question: str, answer: str | None) -> bool:
    """Whether the trace is of a span that builds, loads, lists or embeds something: nobody was asked or answered."""
    kinds = {span.kind for span in trace.spans}
    root = next((span for span in trace.spans if span.parent_id is None), None)
    if (kinds and kinds <= NO_DIALOGUE) or (root is not None and root.kind in NO_DIALOGUE):
        return True
    if not kinds.isdisjoint(MODEL_CALLS):
        return False
    attributes = attributes_of(root) if root is not None else {}
    operation = next((str(attributes[key]) for key in OPERATIONS if attributes.get(key)), "")
    if operation in BUILDING or operation.endswith("/list") or operation.startswith("notifications/"):
        return True
    if "messaging.operation" in attributes or "messaging.operation.name" in attributes:
        return kinds <= {"span"} and not question and not answer  # the transport between actors
    if kinds and kinds <= STEPS and is_raw(question) and not _has_text(decode_json(question)):
        return True
    return not answer and BUILDS.match(root.name if root is not None else trace.name) is not None


def _has_text(document: Any) -> bool:
    """Whether arguments hold a text of their own: lists of records are what a step works on, and no question."""
    values = document.values() if isinstance(document, dict) else ()
    return any(isinstance(one, str) or _has_text(one) for one in values)


def _closes_dialogue(trace: Trace, conversation: Conversation, answer: str | None) -> bool:
    """Whether a trace is the user's closing words alone, after answers."""
    answered = any(message["role"] == "assistant" for message in conversation.messages)
    return answered and not trace.spans and _has_no_answer(trace, conversation, answer)


def _shows_something(conversation: Conversation) -> bool:
    """Whether the user's message has content without a text, such as a picture."""
    return any(message["role"] == "user" and message.get("content") for message in conversation.messages[-1:])


def _has_no_answer(trace: Trace, conversation: Conversation, answer: str | None) -> bool:
    """Whether no answer was exported, and nothing says that the app crashed; an empty answer is one."""
    crashed = trace.status is TraceStatus.FAILED or any(span.status is TraceStatus.FAILED for span in trace.spans)
    replies = [message for message in conversation.turn if message["role"] == "assistant"]
    spoken = [reply for reply in replies if reply.get("tool_calls") or not MASKED.fullmatch(text_of(reply))]
    # Where contents are kept back, what is left of a reply without a text is none.
    acted = bool(spoken) and (len(spoken) == len(replies) or any(map(text_of, spoken)))
    cut = bool(replies) and CUT.search(text_of(replies[-1])[-80:]) is not None
    return answer is None and not crashed and (cut or not acted)


def _is_from_a_person(question: str, trace: Trace, conversation: Conversation) -> bool:
    """Whether the question is not the output of a tool, the instructions of the app or a template."""
    if OBSERVATION.match(question) or BLANK_IN_TEMPLATE.search(question):
        return False
    text = question.strip()
    texts = [(message["role"], text_of(message).strip()) for message in conversation.messages]
    if ("user", text) in texts:
        return all(span.kind != "tool" or (span.output or "").strip() != text for span in trace.spans)
    return not any(role in (*INSTRUCTING, "tool") and spoken == text for role, spoken in texts)


def _is_envelope(text: str) -> bool:
    """Whether a text is an object of a framework as it writes or prints it, or a call as text."""
    if CALL_AS_TEXT.match(text) or PRINTED.fullmatch(text) or (is_raw(text) and ADDRESS.search(text)):
        return True
    document = decode_json(text) if text.lstrip()[:1] in ("{", "[") else None
    first = document[0] if isinstance(document, list) and document else document
    return isinstance(first, dict) and (not WRAPPING.isdisjoint(first) or {"role", "content"} <= first.keys())


def _is_wrapped_answer(answer: str, conversation: Conversation) -> bool:
    """Whether an answer is an envelope. Calls that were made are no text: the turn ends with them."""
    last = next((message for message in reversed(conversation.turn) if message["role"] == "assistant"), {})
    names = [call["function"]["name"] for call in last.get("tool_calls", ())]
    if names and is_calls(answer, names):
        return False
    if CALL_AT_END.search(answer):
        return True
    starts = [begun.end() for begun in JSON_IN_LINE.finditer(answer)]
    ends = (decode_json(answer[start:].rstrip()) for start in (*starts[:1], *starts[1:][-3:]))
    return _is_envelope(answer) or any(map(_is_call, ends))


def _is_call(document: Any) -> bool:
    calls = document if isinstance(document, list) else [document]
    return bool(calls) and all(
        isinstance(call, dict)
        and isinstance(call.get("name"), str)
        and any(isinstance(call.get(key), dict) for key in ("arguments", "args", "parameters"))
        for call in calls
    )


def _lacks_tools(trace: Trace, conversation: Conversation) -> bool:
    """Whether a tool ran that the conversation does not call; what ran inside a tool or a called agent is its own matter."""
    by_id = {span.id: span for span in trace.spans}
    called: dict[str, list[Any]] = {}
    made: set[str] = set()
    for message in (*conversation.messages, *conversation.turn):
        for call in message.get("tool_calls", ()):
            made.add(call["id"])
            called.setdefault(call["function"]["name"], []).append(decode_json(call["function"]["arguments"]))
    # A result that names a call which nobody made: the export left the call out.
    spoken = (*conversation.messages, *conversation.turn)
    if any(one["role"] == "tool" and one.get("tool_call_id") not in made | {None, ""} for one in spoken):
        return True
    outer = [span for span in trace.spans if span.kind == "tool" and not _is_inside_tool(span, by_id, called.keys())]
    ran: dict[str, list[Any]] = {}
    for run in tool_runs(outer):
        # No provider takes a tool with a space in its name: such a step is the framework's own.
        if not run.name or " " in run.name or states_answer(run.arguments, trace.output or ""):
            continue
        # A run that two instrumentations recorded is one.
        if (arguments := decode_json(run.arguments)) not in ran.setdefault(run.name, []):
            ran[run.name].append(arguments)
    return any(
        name not in called or (len(runs) > len(called[name]) and any(one not in called[name] for one in runs))
        for name, runs in ran.items()
    )


def _is_inside_tool(span: Span, by_id: dict[str, Span], called: AbstractSet[str]) -> bool:
    seen = {span.id}
    above = by_id.get(span.parent_id or "")
    while above is not None and above.id not in seen:
        if above.kind == "tool" or (above.kind == "agent" and not called.isdisjoint(re.split(r"[^\w-]+", above.name))):
            return True
        seen.add(above.id)
        above = by_id.get(above.parent_id or "")
    return False


# Where the content of messages is switched on, by how the name of the instrumentation begins; the longest beginning wins.
SWITCHES = {
    "opentelemetry.instrumentation.": "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true (of OpenLLMetry "
    "TRACELOOP_TRACE_CONTENT=true) in the app's environment",
    "opentelemetry.util.genai": "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY in the app's environment",
    "traceloop": "set TRACELOOP_TRACE_CONTENT=true in the app's environment",
    "openinference.": "unset OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS in the app's environment",
    "ai": "set recordInputs and recordOutputs of experimental_telemetry to true",
    "pydantic-ai": "pass InstrumentationSettings(include_content=True)",
    "gcp.vertex.agent": "set OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental and "
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY in the app's environment (older versions: "
    "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true)",
    "azure.": "set AZURE_TRACING_GEN_AI_CONTENT_RECORDING_ENABLED=true in the app's environment",
    "semantic_kernel": "set SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE=true in the app's environment",
    "ai.koog": "call setVerbose(true) where the feature OpenTelemetry is installed",
    "agent_framework": "set ENABLE_SENSITIVE_DATA=true in the app's environment",
    "org.springframework.ai": "set spring.ai.chat.observations.log-prompt and log-completion to true",
    "io.quarkiverse.langchain4j": "set quarkus.langchain4j.tracing.include-prompt and include-completion to true",
}
CHANGES = {
    Gap.NO_QUESTION: "send the question: the input of the first span, or gen_ai.input.messages",
    Gap.NO_ANSWER: "send the answer: the output of the first span, or gen_ai.output.messages",
    Gap.QUESTION_NOT_FROM_A_PERSON: "send the user's message as the input of the first span, or with the role user",
    Gap.ENVELOPE: "send the texts of question and answer as input and output of the first span, without the object around them",
    Gap.TOOLS_MISSING: "send the calls of tools in the messages of the model call (tool_calls, and a tool message each)",
    Gap.NO_INTERACTION: "nothing: spans that build, load or list something are no conversations",
}


def change_of_exporter(gap: Gap, exporter: str) -> str:
    """Say what to change where traces are sent from, so that they are whole."""
    if gap in (Gap.NO_QUESTION, Gap.NO_ANSWER):
        known = [name for name in SWITCHES if exporter == name or (len(name) > 2 and exporter.startswith(name))]
        if known:
            return SWITCHES[max(known, key=len)]
    return CHANGES[gap]


def exporter_of(trace: Trace) -> str:
    """Name what sent a trace: the instrumentation of its model call or root, else its service, else its agent."""
    ordered = sorted(trace.spans, key=lambda span: (span.kind not in MODEL_CALLS, span.parent_id is not None))
    scopes = (span.metadata.get("scope") for span in ordered)
    services = trace.metadata.get("services")
    named = (*scopes, *(services if isinstance(services, list) else ()), trace.metadata.get("agent"))
    return next((name for name in named if isinstance(name, str) and name), "records")
