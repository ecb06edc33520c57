/** One trace: the verdict first, then what was said, how the time was spent, and what was thought of it. The chosen tab
 *  stands in the address, so it outlives a reload and goes with the reader to the next trace. */
import { CopyButton, Tabs } from "@mantine/core";
import { getRouteApi, Link, useLocation, useSearch } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { When } from "@/ui/Age";
import { oneOf } from "@/ui/address";
import { Tier } from "@/ui/cases";
import { count, duration, milliseconds, moment, plural } from "@/ui/format";
import { CheckIcon, CopyIcon } from "@/ui/icons";
import { Messages } from "@/ui/Messages";
import { Facts, factsOf, HEAD_BUTTON, RecordFrame } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { TextBlock } from "@/ui/TextBlock";
import { visible } from "@/ui/text";
import { Comments } from "./Comments";
import { costOf, modelOf, Status } from "./columns";
import { type Trace, useCasesOf, useConversation, useExplanations, useSession, useTrace, useTraces } from "./data";
import { Excerpt, holds, searched, useMarks } from "./Hit";
import { Scores } from "./Scores";
import { spanTree } from "./spanTree";
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
  return <OneTrace key={traceId} trace={found.data} tab={tab} choose={choose} close={close} />;
}

type OneTraceProps = {
  trace: Trace;
  tab: (typeof TABS)[number];
  choose: (next: string | null) => void;
  close: () => void;
};

function OneTrace({ trace, tab, choose, close }: OneTraceProps) {
  const view = useSearch({ from: "/traces" });
  const hit = useTraces(view).data?.pages.find(({ hits }) => hits[trace.id])?.hits[trace.id];
  const search = searched(view.q, hit);
  const shown = useMarks<HTMLDivElement>(search);
  const why = useExplanations(trace.id);
  const tier = why.data?.find((verdict) => verdict.tier !== "none")?.tier;
  return (
    <RecordFrame
      title={trace.input || trace.name || trace.id}
      badge={tier ? <Tier tier={tier} /> : <Status status={trace.status} />}
      close={close}
      tools={<Neighbours traceId={trace.id} />}
      meta={
        <>
          <span>{moment(trace.started_at)}</span>
          <span>{duration(milliseconds(trace.started_at, trace.ended_at))}</span>
          {modelOf(trace) && <span>{visible(modelOf(trace) ?? "")}</span>}
          {trace.session_id && (
            <Link to="/traces" search={{ session: trace.session_id }}>
              All of this session
            </Link>
          )}
          <CasesOfTrace traceId={trace.id} />
        </>
      }
      actions={<TraceActions trace={trace} />}
    >
      <div className={classes.columns}>
        <div className={classes.beside}>
          <Why traceId={trace.id} />
        </div>
        <Tabs value={tab} onChange={choose} keepMounted={false} className={classes.main} ref={shown}>
          <Tabs.List mb="md">
            <Tabs.Tab value="conversation">Conversation</Tabs.Tab>
            <Tabs.Tab value="spans">Spans ({count(trace.spans.length)})</Tabs.Tab>
            <Tabs.Tab value="scores">Scores ({count(trace.scores.length)})</Tabs.Tab>
            <Tabs.Tab value="comments">Comments</Tabs.Tab>
            <Tabs.Tab value="details">Details</Tabs.Tab>
          </Tabs.List>
          {hit && (
            <p className={classes.foundIn}>
              <Excerpt hit={hit} />
            </p>
          )}
          <Tabs.Panel value="conversation">
            <Conversation trace={trace} search={search} />
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
        {tab !== "spans" && (
          <div className={classes.besideMore}>
            <TimeAndCost trace={trace} onMore={() => choose("spans")} />
          </div>
        )}
      </div>
    </RecordFrame>
  );
}

/** The way to the traces before and after this one in the list, and its address to hand on. */
function Neighbours({ traceId }: { traceId: string }) {
  const view = useSearch({ from: "/traces" });
  const pages = useTraces(view).data?.pages ?? [];
  const ids = pages.flatMap((page) => page.traces.map((trace) => trace.id));
  const at = ids.indexOf(traceId);
  const way = (id: string | undefined, word: string, sign: string) =>
    id === undefined || at < 0 ? null : (
      <Link
        to="/traces/$traceId"
        params={{ traceId: id }}
        search={view}
        hash={true}
        replace
        className={HEAD_BUTTON}
        aria-label={`${word} trace of the list`}
        title={`${word} (${word === "Next" ? "j" : "k"})`}
      >
        {sign}
      </Link>
    );
  return (
    <>
      {way(ids[at - 1], "Previous", "↑")}
      {way(ids[at + 1], "Next", "↓")}
      <CopyButton value={window.location.href}>
        {({ copied, copy }) => (
          <button
            type="button"
            className={HEAD_BUTTON}
            onClick={copy}
            aria-label={copied ? "Link copied" : "Copy link"}
          >
            {copied ? <CheckIcon size={16} /> : <CopyIcon size={16} />}
          </button>
        )}
      </CopyButton>
    </>
  );
}

function CasesOfTrace({ traceId }: { traceId: string }) {
  const cases = useCasesOf(traceId);
  return cases.data?.map(({ dataset, id }) => (
    <Link key={`${dataset} ${id}`} to="/cases/$dataset/$caseId" params={{ dataset, caseId: id }}>
      Case in {visible(dataset)}
    </Link>
  ));
}

const STEPS = 12;

/** Where time and money went, in a column beside the conversation; all of it is on the tab of spans. */
function TimeAndCost({ trace, onMore }: { trace: Trace; onMore: () => void }) {
  const { rows } = useMemo(() => spanTree(trace.spans), [trace.spans]);
  const metadata = trace.metadata ?? {};
  const tokens = (name: string) => (typeof metadata[name] === "number" ? count(metadata[name] as number) : undefined);
  return (
    <section className={classes.figures} aria-label="Time and cost">
      <Facts
        facts={[
          ["Took", duration(milliseconds(trace.started_at, trace.ended_at))],
          ["Cost", costOf(trace) ?? "unknown"],
          ["Tokens in", tokens("input_tokens")],
          ["Tokens out", tokens("output_tokens")],
        ]}
      />
      {rows.length > 0 && (
        <ol className={classes.steps}>
          {rows.slice(0, STEPS).map(({ span, depth, bar, ms }) => (
            <li key={span.id} style={{ paddingInlineStart: Math.min(depth, 5) * 8 }}>
              <span className={classes.step} data-failed={span.status === "failed" || undefined}>
                <span className="eg-clip">{visible(span.name)}</span>
                <span className="eg-dim eg-numeric">{duration(ms)}</span>
              </span>
              <span className={classes.stepTrack} aria-hidden="true">
                {bar && <span style={{ left: `${100 * bar.offset}%`, width: `${Math.max(1, 100 * bar.width)}%` }} />}
              </span>
            </li>
          ))}
        </ol>
      )}
      {rows.length > 0 && (
        <button type="button" className={classes.undo} onClick={onMore}>
          {rows.length > STEPS ? `All ${count(rows.length)} spans` : "Open the spans"}
        </button>
      )}
    </section>
  );
}

/** What was said: this trace open, the other turns of its session folded before and after it. */
function Conversation({ trace, search }: { trace: Trace; search: string | undefined }) {
  const session = useSession(trace.session_id);
  const turns = session.data?.turns ?? [];
  const at = turns.findIndex((turn) => turn.id === trace.id);
  const cut = session.data?.cut ? " (only the latest are listed)" : "";
  return (
    <div className={classes.conversation}>
      {at > 0 && (
        <OtherTurns label={`${plural(at, "earlier turn")} of this session${cut}`} turns={turns.slice(0, at)} />
      )}
      <ThisTurn trace={trace} search={search} />
      {at >= 0 && at < turns.length - 1 && (
        <OtherTurns
          label={`${plural(turns.length - 1 - at, "later turn")} of this session`}
          turns={turns.slice(at + 1)}
        />
      )}
    </div>
  );
}

/** The messages from the last one of the user on are read; what came before is there on demand. */
function ThisTurn({ trace, search }: { trace: Trace; search: string | undefined }) {
  const conversation = useConversation(trace.id);
  const { messages = [], turn = [], after = [] } = conversation.data ?? {};
  const asked = messages.findLastIndex((message) => message.role === "user");
  const earlier = asked > 0 ? messages.slice(0, asked) : [];
  const open = asked > 0 ? messages.slice(asked) : messages;
  if (messages.length + turn.length > 1) {
    return (
      <>
        {earlier.length > 0 && (
          <Folded label={`${plural(earlier.length, "earlier message")}`} opened={holds(earlier, search)}>
            <Messages messages={earlier} />
          </Folded>
        )}
        <section className={classes.turn} data-this="true" aria-label="This trace">
          {trace.status === "failed" && (
            <TextBlock label="It failed" text={failureOf(trace)} absent="no error text was recorded" tone="rust" />
          )}
          <Messages messages={[...open, ...turn]} />
        </section>
        {after.length > 0 && (
          <Folded label={`${plural(after.length, "message")} after this answer`} opened>
            <Messages messages={after} />
          </Folded>
        )}
      </>
    );
  }
  return (
    <section className={classes.turn} data-this="true" aria-label="This trace">
      <TextBlock label="Question" text={trace.input} absent="no question was recorded" />
      <TextBlock
        label={trace.output ? "Answer" : "It failed"}
        text={trace.output || failureOf(trace)}
        absent="no answer was recorded"
        tone={trace.status === "failed" ? "rust" : "gold"}
      />
    </section>
  );
}

/** Content that is laid out when it is opened for the first time. */
function Folded({ label, opened = false, children }: { label: string; opened?: boolean; children: ReactNode }) {
  const [open, setOpen] = useState(opened);
  return (
    <details className={classes.folded} open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{label}</summary>
      {open && children}
    </details>
  );
}

function OtherTurns({ label, turns }: { label: string; turns: readonly Trace[] }) {
  return (
    <Folded label={label}>
      {turns.map((turn) => (
        <Link
          key={turn.id}
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
          <When at={turn.started_at} />
        </Link>
      ))}
    </Folded>
  );
}

function costInWords(trace: Trace): string {
  const amount = costOf(trace);
  if (amount === null) return "unknown: no cost was reported, and no price is known for its models and tokens";
  return trace.cost_source === "priced" ? `${amount}, by the price list` : `${amount}, as reported`;
}

/** The error text of a failed trace: its own, or that of the last span that failed. */
function failureOf(trace: Trace): string | null {
  const texts = [trace.metadata, ...trace.spans.toReversed().map((span) => span.metadata)].flatMap((metadata) => {
    const found = metadata?.error ?? metadata?.["exception.message"] ?? metadata?.status_message;
    return found === undefined || found === null ? [] : [typeof found === "string" ? found : JSON.stringify(found)];
  });
  return texts[0] ?? null;
}
