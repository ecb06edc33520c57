/** What the reviewer judges by: the approved diff, the agent's tool calls, the file at base. */
import { Tabs } from "@mantine/core";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { lazy, memo, Suspense, useEffect, useRef, useState } from "react";
import { api, type Schemas, unwrap } from "@/api/client";
import { Failed, Loading } from "@/ui/states";
import { visible } from "@/ui/text";
import type { Content, Edit, Entry, JsonObject, RangeEntry } from "./content";
import classes from "./evidence.module.css";

const DiffEvidence = lazy(() => import("./DiffEvidence"));

type EvidencePanelProps = {
  content: Content;
  evidence: UseQueryResult<Evidence>;
  shown: Entry | null;
  onEdit: (edit: Edit) => void;
};

export const EvidencePanel = memo(function EvidencePanel({ content, evidence, shown, onEdit }: EvidencePanelProps) {
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
                  onEdit({ type: "addEntry", list: "filePaths", entry });
                }}
                onAddRange={(added) => {
                  const entry = { ...added, sources: ["golden_diff"] };
                  onEdit({ type: "addEntry", list: "lineRanges", entry });
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

type FileAtBaseProps = { commit: string; path: string; start: number | null; end: number | null };

/** A file as it was at the base commit, with a range lit. */
function FileAtBase({ commit, path, start, end }: FileAtBaseProps) {
  const file = useQuery({
    queryKey: ["review", "file", commit, path],
    enabled: commit !== "" && path !== "",
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => unwrap(api.GET("/api/v1/review/file", { params: { query: { commit, path } } })),
  });
  const lit = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (file.data && start !== null) lit.current?.scrollIntoView({ block: "center" });
  }, [file.data, start]);
  if (commit === "") return <p className={classes.none}>Fill in the base commit to see the file as it was.</p>;
  if (file.isPending) return <Loading what={path} />;
  if (file.isError) return <Failed error={file.error} />;
  if (file.data.text === null) return <p className={classes.none}>{file.data.message}</p>;
  return (
    <>
      <p className={classes.fileName}>
        {path} at {commit.slice(0, 12)}
      </p>
      <ol className={classes.code}>
        {file.data.text?.split("\n").map((line, index) => {
          const inside = start !== null && index + 1 >= start && index + 1 <= (end ?? start);
          return (
            // biome-ignore lint/suspicious/noArrayIndexKey: a line is its number
            <li key={index} ref={index + 1 === start ? lit : undefined} data-lit={inside || undefined}>
              {visible(line) || " "}
            </li>
          );
        })}
      </ol>
    </>
  );
}

const LONG = 20_000;

/** What the agent asked for and what it got; results open on demand, because they run to thousands of lines. */
function ToolCalls({ calls }: { calls: Evidence["tool_calls"] }) {
  if (calls.length === 0) return <p className={classes.none}>No context tool was called.</p>;
  return (
    <ol className={classes.calls}>
      {calls.map((call) => (
        <li key={call.id}>
          <details>
            <summary>
              <code>{call.name}</code>{" "}
              <span className={classes.arguments}>{JSON.stringify(call.arguments).slice(0, 200)}</span>
              {call.failed && <b> failed</b>}
            </summary>
            <h4>Arguments</h4>
            <pre>{visible(JSON.stringify(call.arguments, null, 2))}</pre>
            <h4>Result</h4>
            <pre>{visible(clipped(call.result))}</pre>
          </details>
        </li>
      ))}
    </ol>
  );
}

function clipped(text: string | null | undefined): string {
  if (!text) return "(nothing)";
  return text.length > LONG ? `${text.slice(0, LONG)}\n… ${text.length - LONG} more characters` : text;
}

/** Evidence of an imported row: what travelled with it, else what the server finds by its flow and case ids. */
export type Evidence = Schemas["Evidence"];
export type Change = Schemas["CodeChange"];

/** What of the evidence proves a base commit. */
export function changeOf(evidence: Evidence | undefined): Change {
  const { diff = null, earlier_diff = null, source_branch = null, target_branch = null } = evidence ?? {};
  return { diff, earlier_diff, source_branch, target_branch, named_commits: evidence?.named_commits ?? [] };
}

const NONE: Evidence = {
  diff: null,
  named_commits: [],
  tool_calls: [],
  suggested_queries: [],
  suggested_commits: [],
  trace: null,
  conversation: [],
  missing: null,
};

/** A row may carry an `evidence` key in the server's own shape; what is not of that shape is not shown. */
function carried(content: Content): Evidence | null {
  const found = content.extraA.evidence ?? content.extraB.evidence;
  if (typeof found !== "object" || found === null || Array.isArray(found)) return null;
  const body: JsonObject = found;
  const texts = (value: unknown) => (Array.isArray(value) ? value.filter((item) => typeof item === "string") : []);
  const calls = (Array.isArray(body.tool_calls) ? body.tool_calls : []).flatMap((call, index) => {
    if (typeof call !== "object" || call === null || Array.isArray(call)) return [];
    const { id, name, arguments: given, result, failed } = call as JsonObject;
    const args = typeof given === "object" && given !== null && !Array.isArray(given) ? given : {};
    return [
      {
        id: String(id ?? index),
        name: String(name ?? "tool"),
        arguments: args,
        result: typeof result === "string" ? result : null,
        failed: failed === true,
      },
    ];
  });
  return {
    ...NONE,
    diff: typeof body.diff === "string" ? body.diff : null,
    tool_calls: calls,
    suggested_queries: texts(body.suggested_queries),
    suggested_commits: texts(body.suggested_commits),
  };
}

export function useRowEvidence(content: Content | null) {
  const own = content === null ? null : carried(content);
  const baseCommit = content?.baseCommit.trim() ?? "";
  const { workspaceId = "", flowId = "", caseId = "" } = content?.identity ?? {};
  return useQuery({
    queryKey: [
      "review",
      "evidence",
      "flow",
      workspaceId,
      flowId,
      caseId,
      flowId === "" ? baseCommit : "",
      own !== null,
    ],
    enabled: content !== null,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async (): Promise<Evidence> => {
      if (own !== null) return own;
      const query = { workspace_id: workspaceId, flow_id: flowId, case_id: caseId, base_commit: baseCommit };
      return unwrap(api.GET("/api/v1/review/evidence/flow", { params: { query } }));
    },
  });
}
