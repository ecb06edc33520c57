"""The names each convention gives to a thing a span can say: one table per question, newest and most exact name first.

OpenTelemetry's gen_ai exists in three generations: numbered attributes (`gen_ai.prompt.0.content`), span events
(`gen_ai.user.message`, `gen_ai.choice`), and JSON attributes (`gen_ai.input.messages`). OpenInference, OpenLLMetry,
Langfuse, the Vercel AI SDK, MLflow and Pydantic AI each add their own. A new convention is a few lines here.

The tables hold over a hundred names, a span has a dozen, and an app sends thousands of spans with the same dozen. So `plan_for`
narrows the tables to the names that are there, once for each set of names: reading a span then asks only for what it says. A
name that is not there answers no question, so leaving it out changes no answer.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain

from evergold.sources.conventions.messages import is_numbered
from evergold.sources.conventions.scores import ANNOTATED
from evergold.sources.spans import Attributes

MODEL = (
    "gen_ai.response.model",
    "gen_ai.request.model",
    "llm.response.model_name",
    "llm.model_name",
    "embedding.model_name",
    "langfuse.observation.model.name",
    "ai.response.model",
    "ai.model.id",
    "mlflow.llm.model",
    "model_name",
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
    "ai.usage.inputTokens",
    "ai.usage.promptTokens",
    "ai.usage.tokens",
)
TOKENS_OUT = (
    "gen_ai.usage.output_tokens",
    "gen_ai.usage.completion_tokens",
    "llm.token_count.completion",
    "ai.usage.outputTokens",
    "ai.usage.completionTokens",
)
TOKENS_ALL = (
    "gen_ai.usage.total_tokens",
    "llm.token_count.total",
    "llm.usage.total_tokens",
    "ai.usage.totalTokens",
)
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
    *(prefix + name for prefix in PROPERTIES for name in ("user_id", "userId")),
    "mlflow.trace.user",
)
TEXT_FACTS = {"user_id": USER}  # a fact of a span → the names it has; the first that is there is its text
TOOL = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name")
QUERY = ("gen_ai.retrieval.query.text",)
INSTRUCTIONS = ("gen_ai.system_instructions",)
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
    "genkit:input",
    "haystack.component.input",
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
    "genkit:output",
    "haystack.component.output",
    "response_data",
)
TEXT_OUTPUT = ("ai.response.text", "final_result")
WHOLE_RUNS = ("pydantic_ai.all_messages", "all_messages_events")
LATE_OUTPUT = ("ai.response.object", "ai.response.toolCalls", *WHOLE_RUNS)
MESSAGE_EVENTS = ("gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message")
# In lower case: senders write CHAIN, chain and Chain.
KINDS = {
    **dict.fromkeys(("chat", "text_completion", "generate_content", "completion", "llm", "generation"), "llm"),
    **dict.fromkeys(("chat_model", "ai.generatetext.dogenerate", "ai.streamtext.dostream"), "llm"),
    **dict.fromkeys(("ai.generateobject.dogenerate", "ai.streamobject.dostream"), "llm"),
    **dict.fromkeys(("execute_tool", "tool", "ai.toolcall", "function"), "tool"),
    **dict.fromkeys(("invoke_agent", "create_agent", "agent"), "agent"),
    **dict.fromkeys(("embeddings", "embedding", "ai.embed.doembed", "ai.embedmany.doembed"), "embedding"),
    **dict.fromkeys(("retrieval", "retriever"), "retriever"),
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

Names = tuple[str, ...]

STATED_INPUT = (*JSON_INPUT, *QUERY)
SELDOM = frozenset(
    (
        *(*USAGE_OBJECTS, *COST, *COST_PARTS, *TOKENS_ALL, *TAGS, *OWN_NAME),
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


@dataclass(frozen=True, slots=True)
class AttributePlan:
    """Where to look in a span with certain names: each field is a table of `conventions`, narrowed to those.

    Of the names of a field the first that says something decides. `listed` are the prefixes of flattened message
    lists, for input and output. `instructions` are an input where nothing else is. `seldom`, `annotated`: whether there
    is anything of what most spans do not say.
    """

    kind: Names
    model: Names
    provider: Names
    tokens_in: Names
    tokens_out: Names
    session: Names
    tool: Names
    stated_input: Names
    instructions: Names
    text_output: Names
    json_output: Names
    late_output: Names
    metadata: Names
    prefixed: Names
    listed: tuple[Names, Names]
    seldom: bool
    annotated: bool


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

    def among(table: Iterable[str]) -> Names:
        return tuple(name for name in table if name in there)

    def listing(table: Iterable[str]) -> Names:
        return tuple(prefix for prefix in table if is_numbered(prefix, names))

    listed = listing(LISTED_INPUT), listing(LISTED_OUTPUT)
    return AttributePlan(
        among(KIND),
        among(MODEL),
        among(PROVIDER),
        among(TOKENS_IN),
        among(TOKENS_OUT),
        among(SESSION),
        among(TOOL),
        among(STATED_INPUT),
        among(INSTRUCTIONS),
        among(TEXT_OUTPUT),
        among(JSON_OUTPUT),
        among(LATE_OUTPUT),
        among(METADATA),
        tuple(name for name in names if name.startswith(METADATA_PREFIXES)),
        listed,
        not SELDOM.isdisjoint(there) or is_numbered(DOCUMENTS, names),
        bool(listing(ANNOTATED)),
    )
