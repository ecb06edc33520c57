/** Says that the page renews itself, and since when it could not. */
import classes from "./overview.module.css";

export function Live({ asOf, failed }: { asOf: string | undefined; failed: boolean }) {
  const time = asOf ? new Date(asOf).toLocaleTimeString("en-GB") : null;
  return (
    <span className={classes.live} data-failed={failed || undefined}>
      {failed ? `Not renewed${time ? `; these numbers are from ${time}` : ""}` : `Live${time ? `, as of ${time}` : ""}`}
    </span>
  );
}
