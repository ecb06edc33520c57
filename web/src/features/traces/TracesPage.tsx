/** Every trace, newest first. Pages are asked for as they are scrolled to, so a million traces cost what one page costs. */
import { getRouteApi, Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { Beginning } from "@/ui/Beginning";
import { count } from "@/ui/format";
import { RecordList } from "@/ui/RecordList";
import { Snippets } from "@/ui/Snippets";
import { Split } from "@/ui/Split";
import { Empty, ListState } from "@/ui/states";
import { BulkActions } from "./BulkActions";
import { columnsOf } from "./columns";
import { type Trace, useTraces } from "./data";
import { TraceFilters } from "./TraceFilters";
import { isNarrowed, type TraceView } from "./view";

const route = getRouteApi("/traces");
const keyOf = (trace: Trace) => trace.id;

export function TracesPage() {
  const view = route.useSearch();
  const navigate = useNavigate();
  const { traceId } = useParams({ strict: false });
  const traces = useTraces(view);
  const rows = useMemo(() => traces.data?.pages.flatMap((page) => page.traces) ?? [], [traces.data]);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const shown = useMemo(() => columnsOf(view), [view]);
  const show = (next: TraceView) => void navigate({ to: ".", search: next, replace: true });

  return (
    <Split
      title="Traces"
      lead="What the app really did"
      filters={<TraceFilters view={view} onChange={show} />}
      list={
        <ListState what="traces" query={traces} rows={rows} empty={<NoTraces filtered={isNarrowed(view)} />}>
          {marked.size > 0 && <BulkActions traceIds={[...marked]} onClear={() => setMarked(new Set())} />}
          <RecordList
            label="Traces"
            rows={rows}
            columns={shown.columns}
            template={shown.template}
            marked={marked}
            onMark={setMarked}
            rowKey={keyOf}
            selected={traceId ?? null}
            href={(row) => `/traces/${encodeURIComponent(row.id)}`}
            open={(row) =>
              void navigate({
                to: "/traces/$traceId",
                params: { traceId: row.id },
                search: view,
                hash: true,
                replace: Boolean(traceId),
              })
            }
            more={traces.hasNextPage}
            loadMore={traces.fetchNextPage}
            loadingMore={traces.isFetchingNextPage}
            end={`That is all: ${count(rows.length)}`}
          />
        </ListState>
      }
      record={traceId ? <Outlet /> : null}
    />
  );
}

function NoTraces({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No trace passes these filters">Widen the period or clear the search.</Empty>;
  return (
    <Empty title="No traces yet">
      <Beginning of="traces" sample>
        <p>Or let an app send its traces here by itself:</p>
        <Snippets />
      </Beginning>
    </Empty>
  );
}
