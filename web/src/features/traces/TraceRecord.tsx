/** One trace: the verdict first, then what was said, how the time was spent, and what was thought of it. The chosen tab
 *  stands in the address, so it outlives a reload and goes with the reader to the next trace. */
import { Tabs } from "@mantine/core";
import { getRouteApi, Link, useLocation } from "@tanstack/react-router";
import { oneOf } from "@/ui/address";
import { Facts, factsOf } from "@/ui/Facts";
import { count, duration, milliseconds, moment } from "@/ui/format";
import { RecordFrame } from "@/ui/Record";
import { Failed, Loading } from "@/ui/states";
import { visible } from "@/ui/visible";
import { Comments } from "./Comments";
import { Conversation } from "./Conversation";
import { modelOf } from "./columns";
import { useTrace } from "./data";
import { Scores } from "./Scores";
import { Status } from "./Status";
import { TraceActions } from "./TraceActions";
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
              ...factsOf(trace.metadata),
            ]}
          />
        </Tabs.Panel>
      </Tabs>
    </RecordFrame>
  );
}
