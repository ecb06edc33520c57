/** What decides whether a trace becomes a case: change it, see what that would do, save it, go back. */
import { Button } from "@mantine/core";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { useMay } from "@/api/access";
import { plural } from "@/ui/format";
import { Page, Panel } from "@/ui/Page";
import { Failed, Loading } from "@/ui/states";
import { ChecksForm } from "./ChecksForm";
import { type Rules, type RulesView, useRules, useSaveRules } from "./data";
import { History } from "./History";
import { PolicyForm } from "./PolicyForm";
import { Preview } from "./Preview";
import classes from "./rules.module.css";

const route = getRouteApi("/rules");

export function RulesPage() {
  const seen = useRules();
  return (
    <Page
      title="Curation rules"
      lead={
        <>
          What makes a trace golden, a failure or neither. <Link to="/">Back to the overview</Link>
        </>
      }
    >
      {seen.isPending ? (
        <Loading what="rules" />
      ) : !seen.data ? (
        <Failed error={seen.error} retry={() => void seen.refetch()} />
      ) : (
        <Editor now={seen.data} />
      )}
    </Page>
  );
}

/** `now` are the rules in force; `view` those that the form began with, which stay under unsaved changes. */
function Editor({ now }: { now: RulesView }) {
  const { part } = route.useSearch();
  const mayEdit = useMay("editor");
  const [view, setView] = useState(now);
  const [rules, setRules] = useState<Rules>(view.rules);
  const save = useSaveRules();
  const changed = JSON.stringify(rules) !== JSON.stringify(view.rules);
  const moved = now.number !== view.number;
  const begin = (with_: RulesView) => {
    setView(with_);
    setRules(with_.rules);
  };
  // Waiting traces are counted anew, and rules somebody else saved are taken over where nothing was typed.
  if (now !== view && (!moved || !changed)) {
    setView(now);
    if (moved) setRules(now.rules);
  }
  const store = (chosen: Rules, why: string) =>
    save.mutate({ rules: chosen, base: view.number, why }, { onSuccess: begin });
  useEffect(() => {
    const field = part && document.getElementById(part);
    if (field) {
      field.scrollIntoView({ block: "center" });
      field.focus({ preventScroll: true });
    }
  }, [part]);
  return (
    <div className={classes.grid}>
      <div className={classes.forms}>
        <Panel title="Golden and failure" aside={view.policy_set_by && `set by ${view.policy_set_by}`}>
          <PolicyForm
            policy={rules.policy ?? {}}
            disabled={!mayEdit || view.policy_set_by !== ""}
            onChange={(policy) => setRules({ ...rules, policy })}
          />
        </Panel>
        <Panel title="Built-in checks" aside={view.checks_set_by && `set by ${view.checks_set_by}`}>
          <ChecksForm
            checks={view.checks}
            rules={rules}
            disabled={!mayEdit}
            held={view.checks_set_by !== ""}
            onChange={setRules}
          />
        </Panel>
      </div>
      <div className={classes.side}>
        <Panel title="What it would change">
          {moved && changed && (
            <div role="alert" className={classes.problem}>
              <p>Somebody else changed the rules meanwhile. Yours are still in the form.</p>
              <Button size="compact-sm" variant="default" onClick={() => setView(now)}>
                Go on with mine
              </Button>{" "}
              <Button size="compact-sm" variant="default" onClick={() => begin(now)}>
                Take theirs
              </Button>
            </div>
          )}
          <Preview
            rules={rules}
            changed={changed}
            mayEdit={mayEdit}
            saving={save.isPending}
            problem={save.error?.message}
            onSave={(why) => store(rules, why)}
            onReset={() => setRules(view.rules)}
          />
          {view.waiting > 0 && !changed && (
            <p className={classes.calm} role="status">
              {plural(view.waiting, "trace")} {view.waiting === 1 ? "waits" : "wait"} to be judged by these rules.
            </p>
          )}
        </Panel>
        <Panel title="Changes so far">
          <History view={view} mayEdit={mayEdit} busy={save.isPending} onRestore={store} />
        </Panel>
      </div>
    </div>
  );
}
