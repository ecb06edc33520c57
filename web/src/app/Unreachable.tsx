/**
 * A line on every page while the server does not answer: what is shown is what was read last, and what is typed stays. The
 * server is asked until it answers; then everything is read again.
 */
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { ASK_AGAIN_MS, askAgain, useReach } from "@/api/reach";
import classes from "./Shell.module.css";

export function Unreachable() {
  const reached = useReach();
  const client = useQueryClient();
  useEffect(() => {
    if (reached) return;
    const timer = setInterval(() => void askAgain(), ASK_AGAIN_MS);
    return () => {
      clearInterval(timer);
      void client.invalidateQueries();
    };
  }, [reached, client]);
  return (
    <div role="status" className={classes.unreachable} hidden={reached}>
      {!reached && "No connection to the server. What you typed stays; the page goes on by itself when it is back."}
    </div>
  );
}
