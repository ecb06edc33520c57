/** What fills an empty page: a file dropped here, sample data by a button, or snippets that send traces here. */
import { Button, FileButton, Group, Tabs } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { useMay } from "@/api/access";
import { api, type Schemas, unwrap } from "@/api/client";
import { currentToken } from "@/api/token";
import { plural } from "./format";
import { CopyText } from "./states";
import classes from "./states.module.css";

type BeginningProps = { of: Schemas["UploadOf"]; sample?: boolean; children?: ReactNode };

export function Beginning({ of, sample = false, children }: BeginningProps) {
  const client = useQueryClient();
  const may = useMay("editor");
  const [over, setOver] = useState(false);
  const done = { onSettled: () => client.invalidateQueries() };
  const upload = useMutation({
    mutationFn: async (file: File) => {
      const body = { name: file.name, of, text: await textOf(file), dataset: "" };
      return unwrap(api.POST("/api/v1/uploads", { body }));
    },
    ...done,
  });
  const taken = upload.data;
  if (!may) return children;
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: dropping is a second way; the button is the first */}
      <div
        className={classes.drop}
        data-over={over || undefined}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          const file = event.dataTransfer.files[0];
          if (file) upload.mutate(file);
        }}
      >
        <p>
          Drop a file of {of} here: JSON lines, OTLP JSON, YAML, or an export of Langfuse, Phoenix, LangSmith or MLflow.
        </p>
        <Group gap={8}>
          <FileButton onChange={(file) => file && upload.mutate(file)}>
            {(props) => (
              <Button {...props} loading={upload.isPending}>
                Choose a file
              </Button>
            )}
          </FileButton>
          {sample && <SampleData />}
        </Group>
        <output>
          {upload.error?.message}
          {taken && `${plural(taken.stored, "record")} stored, ${taken.rejected} not. ${taken.problems[0] ?? ""}`}
        </output>
      </div>
      {children}
    </>
  );
}

const LOOK_MS = 300;
const RENEW_MS = 1_000;
/** What is stored shows up a few seconds later: figures are counted and cases made in the background. */
const SHOWS_MS = 20_000;

/** A button that stores the sample, and says so until the page has something else to show, which takes the place of this. */
export function SampleData() {
  const client = useQueryClient();
  const may = useMay("editor");
  const [coming, setComing] = useState(false);
  const samples = useMutation({
    mutationFn: () => unwrap(api.POST("/api/v1/samples")),
    onSuccess: () => setComing(true),
  });
  useEffect(() => {
    if (!coming) return;
    const renewing = setInterval(() => void client.invalidateQueries(), RENEW_MS);
    const end = setTimeout(() => setComing(false), SHOWS_MS);
    return () => {
      clearInterval(renewing);
      clearTimeout(end);
    };
  }, [coming, client]);
  const busy = samples.isPending || coming;
  const stored = useQuery({
    queryKey: ["sample-progress"],
    enabled: busy,
    refetchInterval: LOOK_MS,
    queryFn: async () => (await unwrap(api.GET("/api/v1/stats/overview", { params: { query: {} } }))).traces,
  });
  if (!may) return null;
  return (
    <>
      <Button variant="default" loading={busy} onClick={() => samples.mutate()}>
        Use sample data
      </Button>
      <output>
        {busy && `Loading sample data… ${stored.data ? `${plural(stored.data, "trace")} so far.` : ""}`}
        {samples.error?.message}
      </output>
    </>
  );
}

/** Snippets in tabs, each with a button that copies it. */
export function Snippets() {
  const snippets = snippetsFor(window.location.origin, currentToken());
  return (
    <Tabs defaultValue="0" keepMounted={false} w="100%">
      <Tabs.List>
        {snippets.map(({ name }, index) => (
          <Tabs.Tab key={name} value={String(index)}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {snippets.map(({ name, text }, index) => (
        <Tabs.Panel key={name} value={String(index)} pt="xs">
          <CopyText what={name}>{text}</CopyText>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

type Snippet = { name: string; language: string; text: string };

/** What an app has to run so that its traces come to this server, with its address and token filled in. */
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

/** The text of a file, which older programs write as UTF-16 or Windows-1252. */
async function textOf(file: File): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
