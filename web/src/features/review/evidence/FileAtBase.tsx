/** A file as it was at the base commit, with a range lit. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { api, unwrap } from "@/api/client";
import { Failed, Loading } from "@/ui/states";
import classes from "./evidence.module.css";

type FileAtBaseProps = { commit: string; path: string; start: number | null; end: number | null };

export function FileAtBase({ commit, path, start, end }: FileAtBaseProps) {
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
              {line || " "}
            </li>
          );
        })}
      </ol>
    </>
  );
}
