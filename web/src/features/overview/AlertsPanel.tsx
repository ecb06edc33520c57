/** What fires now, what was over lately, and how far each notification is. */
import { moment } from "@/ui/format";
import { Failed, Loading } from "@/ui/states";
import { type Alert, useAlerts } from "./data";
import classes from "./overview.module.css";

export function AlertsPanel() {
  const seen = useAlerts();
  if (seen.isPending) return <Loading what="alerts" rows={2} />;
  if (!seen.data) return <Failed error={seen.error} retry={() => void seen.refetch()} />;
  const { alerts, rules, webhook, signed, hint } = seen.data;
  const where = webhook
    ? `Sent to ${webhook}${signed ? ", signed" : ", unsigned"}.`
    : "Written to the log; no webhook is set.";
  return (
    <>
      {hint && <p className={classes.calm}>Alerts: {hint}.</p>}
      {rules.length > 0 && alerts.length === 0 && <p className={classes.calm}>Nothing fires.</p>}
      <ul className={classes.bars}>
        {alerts.map((alert) => (
          <li key={alert.id} className={classes.bar}>
            <span className={classes.barName}>
              <strong>{alert.resolved_at ? "Over" : "Firing"}</strong>
              <span>{alert.text}</span>
            </span>
            <span className={classes.barValue}>{moment(alert.opened_at)}</span>
            <span className={classes.change}>{notified(alert)}</span>
          </li>
        ))}
      </ul>
      {rules.length > 0 && <p className={classes.calm}>{where}</p>}
    </>
  );
}

function notified(alert: Alert): string {
  const last = alert.deliveries?.[0];
  if (!last) return "Written to the log";
  if (last.status === "sent") return "Notification sent";
  if (last.status === "given_up") return `Notification given up after ${last.tries} tries: ${last.error}`;
  return last.error ? `Notification waits, tried ${last.tries} times: ${last.error}` : "Notification waits";
}
