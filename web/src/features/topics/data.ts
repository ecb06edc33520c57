/** Topics, coverage and problems: what is asked, how much of it golden cases cover, what keeps failing. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { api, type Schemas, unwrap } from "@/api/client";

export type Topic = Schemas["Topic"];
export type Problem = Schemas["RecurringProblem"];
export type Change = Schemas["TopicChange"];

const WATCH_MS = 60_000;

export function useTopics() {
  return useQuery({
    queryKey: ["topics"],
    queryFn: () => unwrap(api.GET("/api/v1/topics")),
    refetchInterval: WATCH_MS,
  });
}

export function useTopicMap() {
  return useQuery({ queryKey: ["topics", "map"], queryFn: () => unwrap(api.GET("/api/v1/topics/map")) });
}

export function useMembers(topic: number) {
  return useQuery({
    queryKey: ["topics", topic, "members"],
    queryFn: () => unwrap(api.GET("/api/v1/topics/{topic}/members", { params: { path: { topic } } })),
  });
}

export function useTopicCoverage() {
  return useQuery({
    queryKey: ["topic-coverage"],
    queryFn: () => unwrap(api.GET("/api/v1/coverage")),
    refetchInterval: WATCH_MS,
  });
}

export function useProblems() {
  return useQuery({
    queryKey: ["problems"],
    queryFn: () => unwrap(api.GET("/api/v1/problems")),
    refetchInterval: WATCH_MS,
  });
}

/** Asks for everything again that a change of topics, problems or cases may have changed. */
function useRefresh() {
  const cache = useQueryClient();
  return () => {
    for (const name of ["topics", "topic-coverage", "problems"]) void cache.invalidateQueries({ queryKey: [name] });
  };
}

export function useChangeTopic() {
  const onSuccess = useRefresh();
  return useMutation({
    mutationFn: ({ topic, change }: { topic: number; change: Change }) =>
      unwrap(api.PATCH("/api/v1/topics/{topic}", { params: { path: { topic } }, body: change })),
    onSuccess,
  });
}

export function useFillReview() {
  const onSuccess = useRefresh();
  return useMutation({
    mutationFn: (gaps: number) => unwrap(api.POST("/api/v1/review/fill", { params: { query: { gaps } } })),
    onSuccess,
  });
}

export function useFixProblem() {
  const onSuccess = useRefresh();
  return useMutation({
    mutationFn: (problem: number) =>
      unwrap(api.POST("/api/v1/problems/{problem}/fixed", { params: { path: { problem } } })),
    onSuccess,
  });
}

export function useProblemCases() {
  const onSuccess = useRefresh();
  return useMutation({
    mutationFn: (problem: number) =>
      unwrap(api.POST("/api/v1/problems/{problem}/cases", { params: { path: { problem } } })),
    onSuccess,
  });
}
