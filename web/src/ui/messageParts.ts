/** The canonical message shape (OpenAI chat) taken apart for reading. Tolerant: a message may hold anything. */

export type Message = { [key: string]: unknown };
export interface Part {
  text?: string;
  picture?: string;
}
export interface Call {
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
