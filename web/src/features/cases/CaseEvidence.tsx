/** What belongs to a case beside its texts: passages, tool calls, files and line ranges; each only where the case has it. */
import { Messages } from "@/ui/Messages";
import { Section } from "@/ui/Record";
import { TextBlock } from "@/ui/TextBlock";
import classes from "./cases.module.css";
import type { Case } from "./data";

export function CaseEvidence({ entry }: { entry: Case }) {
  return (
    <>
      {entry.contexts.length > 0 && (
        <Section title="Contexts">
          <ol className={classes.contexts}>
            {entry.contexts.map((context, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a context is its place
              <li key={index} className={classes.context}>
                <span className={classes.number}>[{index + 1}]</span>
                <div>
                  {context.source && <div className={classes.source}>{context.source}</div>}
                  <TextBlock text={context.text} absent="this passage was lost; its place is kept" />
                </div>
              </li>
            ))}
          </ol>
        </Section>
      )}
      {entry.messages.length + entry.turn.length > 1 && (
        <Section title="Conversation">
          <Messages messages={[...entry.messages, ...entry.turn]} />
        </Section>
      )}
      {entry.turn.length === 0 && <Calls title="Tools called" calls={entry.tool_calls} />}
      <Calls title="Tools expected" calls={entry.expected_tools ?? []} />
      {entry.paths.length > 0 && (
        <Section title="Files, most needed first">
          <ol className={classes.paths}>
            {entry.paths.map((ranked) => (
              <li key={ranked.path}>
                {ranked.path} <span className={classes.why}>{ranked.sources.join(", ")}</span>
              </li>
            ))}
          </ol>
        </Section>
      )}
      {entry.ranges.length > 0 && (
        <Section title="Lines at the base commit">
          <ol className={classes.paths}>
            {entry.ranges.map((range) => (
              <li key={`${range.path}:${range.start}-${range.end}`}>
                {range.path}:{range.start}–{range.end} <span className={classes.why}>{range.sources.join(", ")}</span>
              </li>
            ))}
          </ol>
        </Section>
      )}
    </>
  );
}

function Calls({
  title,
  calls,
}: {
  title: string;
  calls: readonly { name: string; args?: { [key: string]: unknown } }[];
}) {
  if (calls.length === 0) return null;
  return (
    <Section title={title}>
      <div style={{ display: "grid", gap: 12 }}>
        {calls.map((call, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the same call may be made twice
          <TextBlock key={index} label={call.name} text={JSON.stringify(call.args)} />
        ))}
      </div>
    </Section>
  );
}
