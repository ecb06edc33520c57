/** What the reviewer judges by: the approved diff, the agent's tool calls, the file at base. */
import { Tabs } from "@mantine/core";
import type { UseQueryResult } from "@tanstack/react-query";
import { type Dispatch, lazy, memo, Suspense, useEffect, useState } from "react";
import { Failed, Loading } from "@/ui/states";
import type { Content, Entry, RangeEntry } from "../validator/rows";
import type { Action } from "../validator/session";
import classes from "./evidence.module.css";
import { FileAtBase } from "./FileAtBase";
import type { Evidence } from "./rowEvidence";
import { ToolCalls } from "./ToolCalls";

const DiffEvidence = lazy(() => import("./DiffEvidence"));

type EvidencePanelProps = {
  content: Content;
  evidence: UseQueryResult<Evidence>;
  shown: Entry | null;
  dispatch: Dispatch<Action>;
};

export const EvidencePanel = memo(function EvidencePanel({ content, evidence, shown, dispatch }: EvidencePanelProps) {
  const caseKey = content.identity.caseId;
  const [tab, setTab] = useState<string | null>("diff");
  useEffect(() => {
    if (shown !== null && evidence.data?.diff == null) setTab("file");
  }, [shown, evidence.data?.diff]);
  const found = evidence.data;
  const range = shown !== null && "startLine" in shown ? (shown as RangeEntry) : null;
  return (
    <aside className={classes.panel} aria-label="Evidence">
      <Tabs value={tab} onChange={setTab} keepMounted={false} className={classes.tabs}>
        <Tabs.List>
          <Tabs.Tab value="diff">Approved diff</Tabs.Tab>
          <Tabs.Tab value="tools">Tool calls{found ? ` (${found.tool_calls.length})` : ""}</Tabs.Tab>
          <Tabs.Tab value="file">File at base</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="diff">
          {evidence.isPending && <Loading what="evidence" />}
          {evidence.isError && <Failed error={evidence.error} retry={() => void evidence.refetch()} />}
          {found && found.diff == null && (
            <p className={classes.none}>{found.missing ?? "No diff is known for this case."}</p>
          )}
          {found?.diff != null && (
            <Suspense fallback={<Loading what="diff view" />}>
              <DiffEvidence
                diff={found.diff}
                paths={(content.filePaths ?? []).map((entry) => entry.path)}
                ranges={content.lineRanges ?? []}
                onAddPath={(path) => {
                  const entry = { path, sources: ["review_merge_diff"] };
                  dispatch({ type: "addEntry", key: caseKey, list: "filePaths", entry });
                }}
                onAddRange={(added) => {
                  const entry = { ...added, sources: ["golden_diff"] };
                  dispatch({ type: "addEntry", key: caseKey, list: "lineRanges", entry });
                }}
              />
            </Suspense>
          )}
        </Tabs.Panel>
        <Tabs.Panel value="tools">{found && <ToolCalls calls={found.tool_calls} />}</Tabs.Panel>
        <Tabs.Panel value="file">
          {shown === null ? (
            <p className={classes.none}>Step into a path or range to see its file here.</p>
          ) : (
            <FileAtBase
              commit={content.baseCommit.trim()}
              path={shown.path}
              start={range?.startLine ?? null}
              end={range?.endLine ?? null}
            />
          )}
        </Tabs.Panel>
      </Tabs>
    </aside>
  );
});
