/** Commits that may be the base of the approved diff, recognised by content, with what speaks for each. */
import { useQuery } from "@tanstack/react-query";
import { useMe } from "@/api/access";
import { api, unwrap } from "@/api/client";
import classes from "./evidence.module.css";

type BaseCandidatesProps = { diff: string | null; chosen: string; onChoose: (commit: string) => void };

export function BaseCandidates({ diff, chosen, onChoose }: BaseCandidatesProps) {
  const me = useMe();
  const ranked = useQuery({
    queryKey: ["review", "candidates", diff?.length ?? 0, diff?.slice(0, 2000)],
    enabled: me.data?.repository === true && diff !== null && diff !== "",
    staleTime: 60_000,
    queryFn: () => unwrap(api.POST("/api/v1/review/base/candidates", { body: { diff: diff ?? "" } })),
  });
  const others = (ranked.data ?? []).filter((candidate) => candidate.commit !== chosen).slice(0, 5);
  if (others.length === 0) return null;
  return (
    <ul className={classes.candidates} aria-label="Likely base commits">
      {others.map((candidate) => (
        <li key={candidate.commit}>
          <button type="button" onClick={() => onChoose(candidate.commit)}>
            <code>{candidate.commit.slice(0, 12)}</code> {candidate.subject}
          </button>
          <span data-bad={!candidate.proved || undefined}>
            {candidate.proved ? "the diff applies" : "the diff does not apply"}
            {candidate.evidence.length > 0 && ` · ${candidate.evidence.join(", ")}`}
          </span>
        </li>
      ))}
    </ul>
  );
}
