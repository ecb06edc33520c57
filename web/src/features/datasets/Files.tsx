/** The files of a version: split sizes, hashes, and the download of each. */
import { useState } from "react";
import { currentToken, requireToken } from "@/api/token";
import { count, plural } from "@/ui/format";
import { Failed, Loading } from "@/ui/states";
import { type Build, useFiles } from "./data";
import classes from "./datasets.module.css";

export function Files({ build }: { build: Build }) {
  const files = useFiles(build.dataset, build.version);
  if (files.isPending) return <Loading what="files" rows={3} />;
  if (!files.data) return <Failed error={files.error} retry={() => void files.refetch()} />;
  if (files.data.length === 0) {
    return <p className={classes.calm}>The files of this version are not where they were written any more.</p>;
  }
  const splits = Object.entries(build.manifest.splits ?? {});
  return (
    <ul className={classes.files} aria-label="Files">
      {files.data.map((name) => {
        const [split, entry] = splits.find(([, one]) => one.path.split("/").at(-1) === name) ?? [];
        return (
          <li key={name}>
            <Download build={build} name={name} />
            {entry && (
              <span className="eg-dim">
                {split}: {plural(entry.count, "case")}
                {entry.groups !== undefined && `, ${plural(entry.groups, "group")}`}
                {entry.bytes !== undefined && `, ${count(Math.ceil(entry.bytes / 1024))} KB`}
              </span>
            )}
            {entry?.sha256 && <code className={classes.hash}>sha256 {entry.sha256}</code>}
          </li>
        );
      })}
    </ul>
  );
}

/** A plain link; a server that asks for a token gets it in the header, which only a fetch can send. */
function Download({ build, name }: { build: Build; name: string }) {
  const [problem, setProblem] = useState<string | null>(null);
  const parts = [build.dataset, build.version, "files", name].map((part) => encodeURIComponent(part));
  const href = `/api/v1/builds/${parts.join("/")}`;
  return (
    <>
      <a
        href={href}
        download
        onClick={(event) => {
          const token = currentToken();
          if (!token) return;
          event.preventDefault();
          save(href, `${build.dataset}-${build.version}-${name}`, token).then(setProblem, () =>
            setProblem("the server does not answer"),
          );
        }}
      >
        {name}
      </a>
      {problem && <span role="alert">{problem}</span>}
    </>
  );
}

/** Gives what went wrong, or null. */
async function save(href: string, name: string, token: string): Promise<string | null> {
  const answer = await fetch(href, { headers: { Authorization: `Bearer ${token}` } });
  if (answer.status === 401) requireToken();
  if (!answer.ok) return `the server answered ${answer.status}`;
  const address = URL.createObjectURL(await answer.blob());
  Object.assign(document.createElement("a"), { href: address, download: name }).click();
  URL.revokeObjectURL(address);
  return null;
}
