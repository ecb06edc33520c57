/** Whether the commit is in the repository and the golden diff applies to it; silent where the server has no repository. */
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useMe } from "@/api/access";
import { api, unwrap } from "@/api/client";
import classes from "./evidence.module.css";

export function BaseCommitCheck({ commit, diff }: { commit: string; diff: string | null }) {
  const me = useMe();
  const [settled] = useDebouncedValue(commit, 300);
  const check = useQuery({
    queryKey: ["review", "base", settled, diff?.length ?? 0, diff?.slice(0, 2000)],
    enabled: me.data?.repository === true && settled.length >= 4,
    staleTime: 60_000,
    queryFn: () => unwrap(api.POST("/api/v1/review/base", { body: { commit: settled, diff } })),
  });
  if (check.data === undefined) return null;
  const bad = !check.data.exists || check.data.applies === false;
  return (
    <p className={classes.check} data-bad={bad || undefined} role="status">
      {bad ? "✗ " : "✓ "}
      {check.data.message}
    </p>
  );
}
