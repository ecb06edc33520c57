/** The files of a version: split sizes, hashes, and the download of each. */
import { Download } from "@/ui/download";
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
            <FileLink build={build} name={name} />
            {entry && (
              <span className="eg-dim">
                {split}: {plural(entry.count, "case")}
                {typeof entry.groups === "number" && `, ${plural(entry.groups, "group")}`}
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

function FileLink({ build, name }: { build: Build; name: string }) {
  const parts = [build.dataset, build.version, "files", name].map((part) => encodeURIComponent(part));
  return (
    <Download href={`/api/v1/builds/${parts.join("/")}`} name={`${build.dataset}-${build.version}-${name}`}>
      {(link) => (
        <a download {...link}>
          {name}
        </a>
      )}
    </Download>
  );
}
