/** The filters of the list. */
import { type FilterField, FilterRow } from "@/ui/filters";
import { PERIODS, STATUSES, type TraceView } from "./view";

const STATUS = { completed: "Completed", failed: "Failed", started: "Running" };
const PERIOD = { "1h": "Last hour", "24h": "Last 24 hours", "7d": "Last 7 days", "30d": "Last 30 days" };
const FIELDS: readonly FilterField<TraceView>[] = [
  { key: "period", label: "Period", known: Object.keys(PERIODS), words: PERIOD },
  { key: "status", label: "Status", known: STATUSES, words: STATUS },
  { key: "model", label: "Model" },
  { key: "session", label: "Session" },
  { key: "user", label: "User" },
];
const HINT = "Words of the name and of the first 300 characters of question and answer, or the beginning of an id";

export function TraceFilters({ view, onChange }: { view: TraceView; onChange: (next: TraceView) => void }) {
  return <FilterRow what="traces" hint={HINT} view={view} fields={FIELDS} onChange={onChange} />;
}
