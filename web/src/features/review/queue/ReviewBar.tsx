/** The head of the queue: counts, who reviews and how far today, and the parts of the page. */
import { Anchor, Button, TextInput } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { saveReviewerName } from "@/api/access";
import type { Schemas } from "@/api/client";
import { useProgress } from "./data";
import classes from "./page.module.css";
import type { QueueView } from "./view";

type ReviewBarProps = {
  counts: { [name: string]: number } | null;
  me: Schemas["Me"] | undefined;
  view: QueueView;
  onMe: () => void;
  onClaim: () => void;
  onDisputed: () => void;
  onProgress: () => void;
};

export function ReviewBar({ counts, me, view, onMe, onClaim, onDisputed, onProgress }: ReviewBarProps) {
  return (
    <header className={classes.bar}>
      <h1>Review</h1>
      <p className={classes.counts} role="status">
        {counts
          ? `${counts.waiting} waiting · ${counts.validated} validated · ${counts.disputed} disputed · ${counts.total} in view`
          : "Loading…"}
      </p>
      <Today name={me?.name} />
      <WhoAmI name={me?.name} fixed={(me?.reviewers.length ?? 0) > 0} onChange={onMe} />
      <Button size="xs" variant="default" onClick={onClaim}>
        Claim next
      </Button>
      <Button size="xs" variant="default" onClick={onDisputed}>
        {view.standing === "disputed" ? "All cases" : "Adjudicate"}
      </Button>
      <Button size="xs" variant="default" onClick={onProgress}>
        {view.show ? "Queue" : "Progress"}
      </Button>
      <Anchor component={Link} to="/dev/evaldata" size="sm" c="var(--eg-accent)">
        Validate files
      </Anchor>
    </header>
  );
}

/** How many cases I decided today, of the goal where there is one. */
function Today({ name }: { name: string | undefined }) {
  const { data } = useProgress();
  const mine = data?.reviewers.find(({ reviewer }) => reviewer === name)?.today ?? 0;
  if (!data || (mine === 0 && data.daily_goal === 0)) return null;
  return (
    <span className={classes.who}>{data.daily_goal > 0 ? `${mine} of ${data.daily_goal} today` : `${mine} today`}</span>
  );
}

function WhoAmI({ name, fixed, onChange }: { name: string | undefined; fixed: boolean; onChange: () => void }) {
  const [editing, setEditing] = useState(false);
  const [value, setValue] = useState("");
  if (fixed || !editing) {
    return (
      <button type="button" className={classes.who} disabled={fixed} onClick={() => setEditing(true)}>
        Reviewing as {name ?? "…"}
      </button>
    );
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        saveReviewerName(value);
        setEditing(false);
        onChange();
      }}
    >
      <TextInput
        size="xs"
        aria-label="Your name"
        placeholder="Your name"
        autoFocus
        value={value}
        onChange={(event) => setValue(event.currentTarget.value)}
      />
    </form>
  );
}
