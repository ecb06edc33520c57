/** What fires now, what was over lately, and how far each notification is; each alert leads to what is behind it. */
import { Link } from "@tanstack/react-router";
import { moment } from "@/ui/format";
import { Failed, Loading } from "@/ui/states";
import { type AlertLink, linkOfAlert } from "./alertLinks";
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
          <AlertLine key={alert.id} alert={alert} />
        ))}
      </ul>
      {rules.length > 0 && <p className={classes.calm}>{where}</p>}
    </>
  );
}

function AlertLine({ alert }: { alert: Alert }) {
  return (
    <li className={classes.bar}>
      <span className={classes.barName}>
        <strong>{alert.resolved_at ? "Over" : "Firing"}</strong>
        <span>
          {alert.text}. <Behind link={linkOfAlert(alert)} rule={alert.rule} />
        </span>
      </span>
      <span className={classes.barValue}>{moment(alert.opened_at)}</span>
      <span className={classes.change}>{notified(alert)}</span>
    </li>
  );
}

function Behind({ link, rule }: { link: AlertLink; rule: string }) {
  const named = { "aria-label": `${link.label}: ${rule}`, children: link.label };
  if (link.to === "/traces") return <Link to="/traces" search={link.search} {...named} />;
  if (link.to === "/cases") return <Link to="/cases" search={link.search} {...named} />;
  return <Link to="/benchmarks" search={link.search} {...named} />;
}

function notified(alert: Alert): string {
  const last = alert.deliveries?.[0];
  if (!last) return "Written to the log";
  if (last.status === "sent") return "Notification sent";
  if (last.status === "given_up") return `Notification given up after ${last.tries} tries: ${last.error}`;
  return last.error ? `Notification waits, tried ${last.tries} times: ${last.error}` : "Notification waits";
}
