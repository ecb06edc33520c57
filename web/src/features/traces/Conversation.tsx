/** What was said, turn by turn: the whole session where there is one, with this trace's turn marked. */
import { Link } from "@tanstack/react-router";
import { Fragment, useEffect, useRef } from "react";
import { age } from "@/ui/format";
import { Messages } from "@/ui/Messages";
import { TextBlock } from "@/ui/TextBlock";
import { visible } from "@/ui/visible";
import { type Trace, useConversation, useSession } from "./data";
import classes from "./traces.module.css";

export function Conversation({ trace }: { trace: Trace }) {
  const session = useSession(trace.session_id);
  const turns = session.data?.turns ?? [];
  const known = turns.some((turn) => turn.id === trace.id);
  return (
    <div className={classes.conversation}>
      {session.data?.cut && <p className={classes.note}>Only the latest turns of this session are shown.</p>}
      {(known ? turns : [trace]).map((turn, at) => (
        <Fragment key={turn.id}>
          {turn.id === trace.id ? <ThisTurn trace={trace} first={at === 0} /> : <OtherTurn turn={turn} />}
        </Fragment>
      ))}
    </div>
  );
}

function ThisTurn({ trace, first }: { trace: Trace; first: boolean }) {
  const section = useRef<HTMLElement>(null);
  const conversation = useConversation(trace.id);
  const { messages = [], turn = [], after = [] } = conversation.data ?? {};
  // Turns before this one would hide it; where there are none, the title and the verdict above stay in view.
  useEffect(() => {
    if (!first) section.current?.scrollIntoView({ block: "nearest" });
  }, [first]);
  if (messages.length + turn.length > 1) {
    return (
      <section ref={section} className={classes.turn} data-this="true" aria-label="This trace">
        {trace.status === "failed" && (
          <TextBlock label="It failed" text={failureOf(trace)} absent="no error text was recorded" tone="rust" />
        )}
        <Messages messages={[...messages, ...turn, ...after]} />
      </section>
    );
  }
  return (
    <section ref={section} className={classes.turn} data-this="true" aria-label="This trace">
      <TextBlock label="Input" text={trace.input} absent="nothing was recorded as input" />
      <TextBlock
        label="Output"
        text={trace.output}
        absent="no output"
        tone={trace.status === "failed" ? "rust" : "gold"}
      />
    </section>
  );
}

function OtherTurn({ turn }: { turn: Trace }) {
  return (
    <Link
      from="/traces/$traceId"
      to="/traces/$traceId"
      params={{ traceId: turn.id }}
      search={true}
      className={classes.turn}
    >
      <span className={classes.said} dir="auto">
        {visible(turn.input.slice(0, 280))}
      </span>
      <span className={classes.reply} dir="auto">
        {visible(turn.output?.slice(0, 280) ?? "")}
      </span>
      <span className={classes.when}>{age(turn.started_at)}</span>
    </Link>
  );
}

/** The error text of a failed trace: its own, or that of the last span that failed. */
function failureOf(trace: Trace): string | null {
  const texts = [trace.metadata, ...trace.spans.toReversed().map((span) => span.metadata)].flatMap((metadata) => {
    const found = metadata?.error ?? metadata?.["exception.message"] ?? metadata?.status_message;
    return found === undefined || found === null ? [] : [typeof found === "string" ? found : JSON.stringify(found)];
  });
  return texts[0] ?? null;
}
