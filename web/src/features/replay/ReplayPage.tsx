/** One case in replay: play it again with a model, and see each trajectory beside the record. */
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMay } from "@/api/access";
import { Page, Panel } from "@/ui/Page";
import { Empty, Failed, Loading } from "@/ui/states";
import { TextBlock } from "@/ui/TextBlock";
import { CaseReplays } from "./CaseReplays";
import { useRecordedCase, useReplaysOfCase } from "./data";
import { PlayAgain } from "./PlayAgain";

const route = getRouteApi("/replay/$dataset/$caseId");

export function ReplayPage() {
  const { dataset, caseId } = route.useParams();
  const recorded = useRecordedCase(dataset, caseId);
  const replays = useReplaysOfCase(dataset, caseId);
  const mayStart = useMay("editor");
  return (
    <Page
      title="Replay"
      lead={
        <>
          <Link to="/cases/$dataset/$caseId" params={{ dataset, caseId }}>
            {dataset} / {caseId}
          </Link>
          : the recorded conversation, played again with its tools answering from the record.
        </>
      }
    >
      {recorded.isPending ? (
        <Loading what="case" />
      ) : recorded.isLoadingError ? (
        <Failed error={recorded.error} retry={() => void recorded.refetch()} />
      ) : (
        <div style={{ display: "grid", gap: 16 }}>
          <Panel>
            <TextBlock label="Question" text={recorded.data.input} />
            {mayStart && <PlayAgain dataset={dataset} caseId={caseId} />}
          </Panel>
          <Panel title="Trajectories beside the record">
            {replays.data?.length === 0 ? (
              <Empty title="Not replayed yet">Choose a model above and play it again.</Empty>
            ) : (
              <CaseReplays dataset={dataset} caseId={caseId} />
            )}
          </Panel>
        </div>
      )}
    </Page>
  );
}
