/** One case in replay: play it again with a model, and see each trajectory beside the record. */
import { Button, Group, TextInput } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useState } from "react";
import { useMay } from "@/api/access";
import { Page, Panel } from "@/ui/Page";
import { Empty, Failed, Loading } from "@/ui/states";
import { TextBlock } from "@/ui/TextBlock";
import { usePlay, useRecordedCase, useReplaysOfCase, useUsedModels } from "./data";
import { CaseReplays } from "./Trajectories";

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

/** The form that plays one case again: a model, and how far the run is. */
function PlayAgain({ dataset, caseId }: { dataset: string; caseId: string }) {
  const [model, setModel] = useState("");
  const models = useUsedModels();
  const play = usePlay(dataset, caseId);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (model.trim()) play.begin(model.trim());
      }}
    >
      <Group align="flex-end" gap={8} mt="md">
        <TextInput
          label="Model"
          placeholder="openai/gpt-4o"
          list="replay-models"
          w={260}
          value={model}
          onChange={(event) => setModel(event.currentTarget.value)}
        />
        <datalist id="replay-models">
          {models.map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <Button type="submit" loading={play.busy} disabled={!model.trim()}>
          Play it again
        </Button>
        <output role={play.problem ? "alert" : undefined}>
          {play.problem}
          {play.run && (
            <>
              {play.busy ? "Playing…" : `The replay ${play.run.status}. `}{" "}
              <Link to="/benchmarks/runs/$runId" params={{ runId: play.run.id }}>
                Open its run
              </Link>
            </>
          )}
        </output>
      </Group>
    </form>
  );
}
