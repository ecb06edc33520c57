/** Messages of a conversation as people read them: who speaks, what is said, which tools were called and what they gave. */
import { Component, lazy, memo, type ReactNode, Suspense, useState } from "react";
import classes from "./Messages.module.css";
import { TextBlock } from "./TextBlock";
import { folding, visible } from "./text";

const Markdown = lazy(() => import("./Markdown"));
const Picture = lazy(() => import("./Markdown").then((module) => ({ default: module.Picture })));

const FOLD_AT = 4000;
const LATEST = 60;
/** A longer text is shown as it is: laying it out would take the browser too long. */
const MARKDOWN_MOST = 20_000;
/** Signs by which a text may look different from its source. */
const MARKUP = /[*_`#~|<>[\]\\&]|^\s*(?:[-+]|\d+[.)])\s/m;
const CALL_MOST = 160;
const NAMES: Record<string, string> = { system: "System", developer: "System", user: "User", assistant: "Assistant" };

export const Messages = memo(function Messages({ messages }: { messages: readonly Message[] }) {
  const [all, setAll] = useState(messages.length <= LATEST);
  const results = resultsOf(messages);
  const hidden = all ? 0 : messages.length - LATEST;
  const shown = messages.slice(hidden).filter((message) => !results.matched.has(message));
  return (
    <div className={classes.messages}>
      {hidden > 0 && (
        <button type="button" className={classes.more} onClick={() => setAll(true)}>
          Show {hidden.toLocaleString("en-US")} earlier messages
        </button>
      )}
      {shown.map((message, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a message is its position
        <One key={hidden + index} message={message} results={results.byCall} />
      ))}
    </div>
  );
});

function One({ message, results }: { message: Message; results: Map<string, Message> }) {
  const role = roleOf(message);
  const calls = callsOf(message);
  return (
    // An article, not a section: a conversation of 200 turns would be 200 landmarks of two names.
    <article className={classes.message} data-role={role} aria-label={NAMES[role] ?? role}>
      <header className={classes.role}>
        {NAMES[role] ?? role}
        {typeof message.name === "string" && message.name !== "" && <span> · {visible(message.name)}</span>}
      </header>
      {partsOf(message.content).map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a part is its position
        <Shown key={index} part={part} role={role} />
      ))}
      {calls.map((call, index) => (
        <CallCard key={call.id || index} call={call} result={results.get(call.id)} />
      ))}
    </article>
  );
}

function Shown({ part, role }: { part: Part; role: string }) {
  if (part.picture !== undefined) {
    return (
      <Suspense fallback={null}>
        <Picture address={part.picture} alt="" />
      </Suspense>
    );
  }
  if (role === "tool") return <TextBlock text={part.text} />;
  return <Prose text={part.text ?? ""} />;
}

/** Markdown, or the text as it is while the renderer loads, where it fails, or when the reader asks for it. */
function Prose({ text }: { text: string }) {
  const [most, setMost] = useState(FOLD_AT);
  const [raw, setRaw] = useState(false);
  const long = text.length > FOLD_AT;
  const fold = folding(text.length, FOLD_AT, most);
  const shown = visible(fold.next ? `${text.slice(0, fold.shown)}…` : text);
  const tooLong = fold.shown > MARKDOWN_MOST;
  const plain = (
    <p className={classes.plain} dir="auto">
      {shown}
    </p>
  );
  return (
    <div>
      {raw || tooLong ? (
        plain
      ) : (
        <Fallback shown={plain}>
          <Suspense fallback={plain}>
            <Markdown text={shown} />
          </Suspense>
        </Fallback>
      )}
      <div className={classes.tools}>
        {long && (
          <button type="button" className={classes.more} onClick={() => setMost(fold.next?.shown ?? FOLD_AT)}>
            {fold.next?.label ?? "Show less"}
          </button>
        )}
        {!tooLong && MARKUP.test(text) && (
          <button type="button" className={classes.more} aria-pressed={raw} onClick={() => setRaw(!raw)}>
            {raw ? "Formatted" : "Source"}
          </button>
        )}
      </div>
    </div>
  );
}

class Fallback extends Component<{ shown: ReactNode; children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    return this.state.failed ? this.props.shown : this.props.children;
  }
}

const oneLine = (text: string) =>
  text
    .slice(0, 4 * CALL_MOST)
    .replace(/\s+/g, " ")
    .slice(0, CALL_MOST);

/** A call as one line; it opens to its arguments and its result. */
function CallCard({ call, result }: { call: Call; result: Message | undefined }) {
  const failed = (result?.extra as { failed?: unknown } | undefined)?.failed === true;
  const given = partsOf(result?.content)
    .map((part) => part.text ?? "")
    .join("\n");
  return (
    <details className={classes.call} data-failed={failed || undefined}>
      <summary>
        <span className={classes.tool}>{visible(call.name)}</span>
        <span className={classes.callLine}>{visible(oneLine(call.arguments))}</span>
        {result !== undefined && <span className={classes.callLine}>→ {visible(oneLine(given))}</span>}
        {failed && <span className={classes.failed}>failed</span>}
        {result === undefined && <span className={classes.failed}>no result recorded</span>}
      </summary>
      <TextBlock label="Arguments" text={call.arguments} absent="no arguments" />
      {result !== undefined && (
        <TextBlock label="Result" text={given} absent="an empty result" tone={failed ? "rust" : "plain"} />
      )}
    </details>
  );
}

/** The canonical message shape (OpenAI chat) taken apart for reading. Tolerant: a message may hold anything. */
type Message = { [key: string]: unknown };
interface Part {
  text?: string;
  picture?: string;
}
interface Call {
  id: string;
  name: string;
  arguments: string;
}

const isObject = (value: unknown): value is { [key: string]: unknown } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value ?? null, null, 2));

export const roleOf = (message: Message): string => (typeof message.role === "string" ? message.role : "unknown role");

function partOf(value: unknown): Part {
  if (typeof value === "string") return { text: value };
  if (!isObject(value)) return { text: asText(value) };
  if (typeof value.text === "string") return { text: value.text };
  const picture = isObject(value.image_url) ? value.image_url.url : value.image_url;
  if (typeof picture === "string") return { picture };
  return { text: asText(value) };
}

export function partsOf(content: unknown): Part[] {
  if (content === null || content === undefined || content === "") return [];
  return Array.isArray(content) ? content.map(partOf) : [partOf(content)];
}

export function callsOf(message: Message): Call[] {
  if (!Array.isArray(message.tool_calls)) return [];
  return message.tool_calls.filter(isObject).map((call) => {
    const made = isObject(call.function) ? call.function : call;
    const given = made.arguments ?? made.args;
    return {
      id: typeof call.id === "string" ? call.id : "",
      name: typeof made.name === "string" ? made.name : "a tool",
      arguments: given === undefined ? "" : asText(given),
    };
  });
}

/** Results by the id of their call, and which messages are shown inside a call for that. An id used twice keeps the first. */
export function resultsOf(messages: readonly Message[]): { byCall: Map<string, Message>; matched: Set<Message> } {
  const called = new Set(messages.flatMap((message) => callsOf(message).map((call) => call.id)));
  const byCall = new Map<string, Message>();
  const matched = new Set<Message>();
  for (const message of messages) {
    const id = message.tool_call_id;
    if (typeof id !== "string" || id === "" || !called.has(id) || byCall.has(id)) continue;
    byCall.set(id, message);
    matched.add(message);
  }
  return { byCall, matched };
}
