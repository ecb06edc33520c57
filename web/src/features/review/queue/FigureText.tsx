/** A figure of agreement with its interval, or the reason why there is none. */
import type { Schemas } from "@/api/client";
import classes from "./list.module.css";

export function FigureText({ figure }: { figure: Schemas["AgreementFigure"] }) {
  if (figure.value === null) return <span className={classes.source}>{figure.reason}</span>;
  const bounds =
    figure.low === null || figure.high === null
      ? "no interval"
      : `95 %: ${figure.low.toFixed(2)} to ${figure.high.toFixed(2)}`;
  return (
    <>
      <b>{figure.value.toFixed(2)}</b>{" "}
      <span className={classes.source}>
        {bounds}, n = {figure.n}
      </span>
    </>
  );
}
