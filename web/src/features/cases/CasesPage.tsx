/** Every case, newest first, with filters; one opens beside the list. */
import { getRouteApi, Outlet, useNavigate, useParams } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { useMay } from "@/api/access";
import { Beginning } from "@/ui/Beginning";
import { count, plural } from "@/ui/format";
import { RecordList } from "@/ui/RecordList";
import { Split } from "@/ui/Split";
import { Empty, ListState } from "@/ui/states";
import { BulkCases } from "./BulkCases";
import { CaseFilters } from "./CaseFilters";
import { CaseTools } from "./CaseTools";
import { columnsOf } from "./columns";
import { type Case, useCases } from "./data";
import { useRepeats } from "./repeats";
import { type CaseView, isNarrowed } from "./view";

const route = getRouteApi("/cases");
const keyOf = (entry: Case) => `${entry.dataset}/${entry.id}`;

export function CasesPage() {
  const view = route.useSearch();
  const navigate = useNavigate();
  const { dataset, caseId } = useParams({ strict: false });
  const cases = useCases(view);
  const rows = useMemo(() => cases.data?.pages.flatMap((page) => page.cases) ?? [], [cases.data]);
  const total = cases.data?.pages[0]?.total;
  const repeats = useRepeats(rows);
  const shown = useMemo(() => columnsOf(view, repeats), [view, repeats]);
  const [marked, setMarked] = useState<ReadonlySet<string>>(new Set());
  const mayEdit = useMay("editor");
  const chosen = rows.filter((row) => marked.has(keyOf(row))).map(({ dataset, id }) => ({ dataset, id }));
  const show = (next: CaseView) => void navigate({ to: ".", search: next, replace: true });

  return (
    <Split
      title="Cases"
      lead={total === undefined ? undefined : plural(total, "case")}
      filters={
        <>
          <CaseFilters view={view} onChange={show} />
          <CaseTools view={view} />
        </>
      }
      list={
        <ListState
          what="cases"
          query={cases}
          rows={rows}
          empty={<NoCases filtered={isNarrowed(view)} reset={() => show({})} />}
        >
          {marked.size > 0 && <BulkCases cases={chosen} onClear={() => setMarked(new Set())} />}
          <RecordList
            label="Cases"
            marked={mayEdit ? marked : undefined}
            onMark={mayEdit ? setMarked : undefined}
            rows={rows}
            columns={shown.columns}
            template={shown.template}
            rowKey={keyOf}
            selected={dataset && caseId ? `${dataset}/${caseId}` : null}
            href={(row) => `/cases/${encodeURIComponent(row.dataset)}/${encodeURIComponent(row.id)}`}
            open={(row) =>
              void navigate({
                to: "/cases/$dataset/$caseId",
                params: { dataset: row.dataset, caseId: row.id },
                search: view,
                replace: Boolean(caseId),
              })
            }
            more={cases.hasNextPage}
            loadMore={cases.fetchNextPage}
            loadingMore={cases.isFetchingNextPage}
            end={`That is all: ${count(rows.length)}`}
          />
        </ListState>
      }
      record={caseId ? <Outlet /> : null}
    />
  );
}

function NoCases({ filtered, reset }: { filtered: boolean; reset: () => void }) {
  if (filtered) {
    return (
      <Empty
        title="No case passes these filters"
        action={
          <button type="button" onClick={reset}>
            Clear the filters
          </button>
        }
      />
    );
  }
  return (
    <Empty title="No cases yet">
      <p>Cases come from traces with scores, and from files.</p>
      <Beginning of="cases" sample />
    </Empty>
  );
}
