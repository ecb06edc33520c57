/** What a replayed trajectory asks for. */
import { useQuery } from "@tanstack/react-query";
import { api, type Schemas, unwrap } from "@/api/client";

export type AlignedTrajectory = Schemas["AlignedTrajectory"];
export type AlignedCall = Schemas["AlignedCall"];

export const useTrajectory = (runId: string, caseId: string, trial: number) =>
  useQuery({
    queryKey: ["runs", runId, "trajectory", caseId, trial],
    queryFn: () =>
      unwrap(
        api.GET("/api/v1/benchmarks/runs/{run_id}/trajectories/{case_id}", {
          params: { path: { run_id: runId, case_id: caseId }, query: { trial } },
        }),
      ),
  });
