"""The names each convention gives to a thing a span can say: one table per question, newest and most exact name first.

OpenTelemetry's gen_ai exists in three generations: numbered attributes (`gen_ai.prompt.0.content`), span events
(`gen_ai.user.message`, `gen_ai.choice`), and JSON attributes (`gen_ai.input.messages`). OpenInference, OpenLLMetry,
Langfuse, the Vercel AI SDK, MLflow and Pydantic AI each add their own. A new convention is a few lines here.
"""

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
