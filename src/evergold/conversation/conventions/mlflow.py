"""MLflow: inputs and outputs of the traced call, and the messages and tools of a chat beside them."""

from evergold.conversation.exchange import Exchange, SpanView
from evergold.conversation.reading import messages_in
from evergold.conversation.tools import tools_in


def read(view: SpanView) -> Exchange:
    attributes = view.attributes
    asked = attributes.get("mlflow.spanInputs")
    exchange = Exchange(messages_in(asked, "input"), messages_in(attributes.get("mlflow.spanOutputs"), "output"))
    if not exchange:
        exchange.input = messages_in(attributes.get("mlflow.chat.messages"), "input")
    exchange.tools = tools_in(attributes.get("mlflow.chat.tools")) or tools_in(asked)
    return exchange
