"""Attributes that hold a request and a reply as they are: ADK, Genkit, Haystack, Prompt flow, and names anybody uses."""

from evergold.conversation.exchange import Exchange, SpanView
from evergold.conversation.nested_json import decoded_object
from evergold.conversation.reading import messages_in
from evergold.conversation.tools import tools_in

ASKED = (
    *("gcp.vertex.agent.llm_request", "genkit:input", "haystack.component.input", "llm.request", "gen_ai.request"),
    *("mastra.input", "input", "inputs", "request", "messages", "llm.prompts", "crewai.input", "agent.input", "prompt"),
)
ANSWERED = (
    *("gcp.vertex.agent.llm_response", "genkit:output", "haystack.component.output", "llm.response", "gen_ai.response"),
    *("mastra.output", "output", "outputs", "response", "result", "llm.completions", "crewai.output", "agent.output"),
)


def read(view: SpanView) -> Exchange:
    exchange = Exchange()
    for key in ASKED:
        value = view.attributes.get(key)
        if value and not exchange.input:
            exchange.input = messages_in(value, "input")
            exchange.tools = tools_in(value)
            # ADK and Genkit send the settings of the model inside the request; objects in there are tools and schemas.
            config = decoded_object(decoded_object(value).get("config"))
            simple = (str, int, float, bool)
            exchange.parameters = {key: item for key, item in config.items() if isinstance(item, simple)}
    for key in ANSWERED:
        if (value := view.attributes.get(key)) and not exchange.output:
            exchange.output = messages_in(value, "output")
    return exchange
