/** The six places of the app, in the order of the loop: what came in, what it became, who checked it, what is measured. */
import { BenchmarksIcon, CasesIcon, DatasetsIcon, OverviewIcon, ReviewIcon, TracesIcon } from "@/ui/icons";

export const PLACES = [
  { to: "/", label: "Overview", key: "o", Icon: OverviewIcon },
  { to: "/traces", label: "Traces", key: "t", Icon: TracesIcon },
  { to: "/cases", label: "Cases", key: "c", Icon: CasesIcon },
  { to: "/review", label: "Review", key: "r", Icon: ReviewIcon },
  { to: "/datasets", label: "Datasets", key: "d", Icon: DatasetsIcon },
  { to: "/benchmarks", label: "Benchmarks", key: "b", Icon: BenchmarksIcon },
] as const;
