/** Evidence of an imported row: what travelled with it, else what the server finds by its flow and case ids. */
import { useQuery } from "@tanstack/react-query";
import { api, type Schemas, unwrap } from "@/api/client";
import type { Content, JsonObject } from "../validator/rows";

export type Evidence = Schemas["Evidence"];

const NONE: Evidence = {
  diff: null,
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
