/** Says that the page renews itself, and since when it could not. */
import classes from "./overview.module.css";

export function Live({ updatedAt, failed }: { updatedAt: number; failed: boolean }) {
  const time = updatedAt ? new Date(updatedAt).toLocaleTimeString("en-GB") : null;
  return (
    <span className={classes.live} data-failed={failed || undefined}>
      {failed ? `The server does not answer; these numbers are from ${time ?? "before"}` : "Live"}
    </span>
  );
}
