/** The filters of the list. Each change is a new address. */
import { changed } from "@/ui/address";
import { Choice, ClearFilters, Word } from "@/ui/filters";
import { SearchBox } from "@/ui/SearchBox";
import { PERIODS, STATUSES, type TraceView } from "./view";

const STATUS = { completed: "Completed", failed: "Failed", started: "Running" };
const PERIOD = { "1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days", "30d": "Last 30 days" };
const periods = Object.keys(PERIODS) as (keyof typeof PERIODS)[];

export function TraceFilters({ view, onChange }: { view: TraceView; onChange: (next: TraceView) => void }) {
  function set<Key extends keyof TraceView>(key: Key, value: TraceView[Key] | null) {
    onChange(changed(view, key, value));
  }
  return (
    <>
      <SearchBox label="Search traces" value={view.q ?? ""} onChange={(value) => set("q", value)} />
      <Choice
        label="Period"
        known={periods}
        words={PERIOD}
        value={view.period}
        onChange={(value) => set("period", value)}
      />
      <Choice
        label="Status"
        known={STATUSES}
        words={STATUS}
        value={view.status}
        onChange={(value) => set("status", value)}
      />
      <Word label="Model" value={view.model} onChange={(value) => set("model", value)} />
      <Word label="Session" value={view.session} onChange={(value) => set("session", value)} />
      <Word label="User" value={view.user} onChange={(value) => set("user", value)} />
      <ClearFilters active={Object.keys(view).length > 0} onClear={() => onChange({})} />
    </>
  );
}
