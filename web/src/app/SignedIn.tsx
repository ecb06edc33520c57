/** Name and role behind the token; nothing on a server without tokens, where everybody may do everything. */
import { useCaller } from "@/api/access";
import classes from "./Shell.module.css";

const MAY: Record<string, string> = {
  owner: "may do everything",
  editor: "may do everything but tokens, erasure and settings",
  reviewer: "may read, decide and comment",
  ingest: "may only send data",
  reader: "may read",
};

export function SignedIn() {
  const { data } = useCaller();
  if (!data?.name) return null;
  return (
    <p className={classes.who} title={`The role ${data.role} ${MAY[data.role]}`}>
      {data.name === data.role ? data.role : `${data.name} · ${data.role}`}
    </p>
  );
}
