/** What an app has to run so that its traces come to this server, with its address and token filled in. */

export type Snippet = { name: string; language: string; text: string };

export function snippetsFor(origin: string, token: string | null): Snippet[] {
  const endpoint = `${origin}/v1/traces`;
  const secret = token ?? "";
  const python = token ? `, headers={"Authorization": "Bearer ${secret}"}` : "";
  const script = token ? `, headers: { Authorization: "Bearer ${secret}" }` : "";
  const curl = token ? ` \\\n  -H 'Authorization: Bearer ${secret}'` : "";
  const exporter = `from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter("${endpoint}"${python})))
`;
  return [
    {
      name: "Python",
      language: "python",
      text: `import evergold

eg = evergold.connect("${origin}"${token ? `, token="${secret}"` : ""})

with eg.trace(input="Capital of Peru?") as t:
    t.output = "Lima."
eg.flush()`,
    },
    {
      name: "TypeScript",
      language: "typescript",
      text: `import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { NodeSDK } from "@opentelemetry/sdk-node";

const sdk = new NodeSDK({
  traceExporter: new OTLPTraceExporter({ url: "${endpoint}"${script} }),
});
sdk.start();`,
    },
    {
      name: "LangChain",
      language: "python",
      text: `${exporter}
from openinference.instrumentation.langchain import LangChainInstrumentor

LangChainInstrumentor().instrument(tracer_provider=provider)`,
    },
    {
      name: "OpenAI SDK",
      language: "python",
      text: `${exporter}
from openinference.instrumentation.openai import OpenAIInstrumentor

OpenAIInstrumentor().instrument(tracer_provider=provider)`,
    },
    {
      name: "curl",
      language: "shell",
      text: `curl ${origin}/api/v1/traces${curl} \\
  -H 'Content-Type: application/json' \\
  -d '{"id": "first", "input": "Capital of Peru?", "output": "Lima."}'`,
    },
  ];
}
