/** One trace: the verdict first, then what was said, how the time was spent, and what was thought of it. The chosen tab
 *  stands in the address, so it outlives a reload and goes with the reader to the next trace. */
import { Tabs } from "@mantine/core";
import { getRouteApi, Link, useLocation } from "@tanstack/react-router";
import { Fragment, useEffect, useRef } from "react";
import { oneOf } from "@/ui/address";
import { age, count, duration, milliseconds, moment } from "@/ui/format";
import { Messages } from "@/ui/Messages";
import { Facts, factsOf, RecordFrame } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { TextBlock } from "@/ui/TextBlock";
import { visible } from "@/ui/text";
import { Comments } from "./Comments";
import { costOf, modelOf, Status } from "./columns";
import { type Trace, useConversation, useSession, useTrace } from "./data";
import { Scores } from "./Scores";
import { TraceActions } from "./TraceActions";
import classes from "./traces.module.css";
import { Waterfall } from "./Waterfall";
import { Why } from "./Why";

const route = getRouteApi("/traces/$traceId");
const TABS = ["conversation", "spans", "scores", "comments", "details"] as const;

export function TraceRecord() {
  const { traceId } = route.useParams();
  const navigate = route.useNavigate();
  const found = useTrace(traceId);
  const tab = useLocation({ select: (location) => oneOf(TABS, location.hash) ?? "conversation" });
  const choose = (next: string | null) =>
    void navigate({ to: ".", hash: next ?? undefined, search: true, replace: true, resetScroll: false });
  const close = () => void navigate({ to: "/traces", search: (before) => before });

  if (found.isPending) return <Loading what="trace" />;
  if (found.isLoadingError) {
    return (
      <RecordFrame title={traceId} close={close}>
        <Failed error={found.error} retry={() => void found.refetch()} />
      </RecordFrame>
    );
  }
  const trace = found.data;
  return (
    <RecordFrame
      title={trace.input || trace.name || trace.id}
      badge={<Status status={trace.status} />}
      close={close}
      meta={
        <>
          <span>{moment(trace.started_at)}</span>
          <span>{duration(milliseconds(trace.started_at, trace.ended_at))}</span>
          {modelOf(trace) && <span>{visible(modelOf(trace) ?? "")}</span>}
          {trace.session_id && (
            <Link to="/traces" search={{ session: trace.session_id }}>
              session {visible(trace.session_id)}
            </Link>
          )}
        </>
      }
    >
      <TraceActions trace={trace} />
      <Why traceId={trace.id} />
      <Tabs value={tab} onChange={choose} mt="md" keepMounted={false}>
        <Tabs.List mb="md">
          <Tabs.Tab value="conversation">Conversation</Tabs.Tab>
          <Tabs.Tab value="spans">Spans ({count(trace.spans.length)})</Tabs.Tab>
          <Tabs.Tab value="scores">Scores ({count(trace.scores.length)})</Tabs.Tab>
          <Tabs.Tab value="comments">Comments</Tabs.Tab>
          <Tabs.Tab value="details">Details</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="conversation">
          <Conversation trace={trace} />
        </Tabs.Panel>
        <Tabs.Panel value="spans">
          <Waterfall spans={trace.spans} />
        </Tabs.Panel>
        <Tabs.Panel value="scores">
          <Scores traceId={trace.id} scores={trace.scores} />
        </Tabs.Panel>
        <Tabs.Panel value="comments">
          <Comments traceId={trace.id} />
        </Tabs.Panel>
        <Tabs.Panel value="details">
          <Facts
            facts={[
              ["Trace", <code key="id">{trace.id}</code>],
              ["Name", trace.name],
              ["User", trace.user_id],
              ["Session", trace.session_id],
              ["Tags", trace.tags.join(", ")],
              ["Cost", costInWords(trace)],
              ...factsOf(trace.metadata),
            ]}
          />
        </Tabs.Panel>
      </Tabs>
    </RecordFrame>
  );
}

/** What was said, turn by turn: the whole session where there is one, with this trace's turn marked. */
function Conversation({ trace }: { trace: Trace }) {
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

function costInWords(trace: Trace): string {
  const said = costOf(trace);
  if (said === null) return "unknown: no cost was reported, and no price is known for its models and tokens";
  return trace.cost_source === "priced" ? `${said}, by the price list` : `${said}, as reported`;
}

/** The error text of a failed trace: its own, or that of the last span that failed. */
function failureOf(trace: Trace): string | null {
  const texts = [trace.metadata, ...trace.spans.toReversed().map((span) => span.metadata)].flatMap((metadata) => {
    const found = metadata?.error ?? metadata?.["exception.message"] ?? metadata?.status_message;
    return found === undefined || found === null ? [] : [typeof found === "string" ? found : JSON.stringify(found)];
  });
  return texts[0] ?? null;
}
