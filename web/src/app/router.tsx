/** Every address of the app and the page behind it, which loads when it is visited. What a page shows stands in its address. */
import { Anchor, Button, Code } from "@mantine/core";
import {
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  Link,
  lazyRouteComponent,
} from "@tanstack/react-router";
import { benchmarksViewOf, compareViewOf, runViewOf } from "@/features/benchmarks/view";
import { readCaseView } from "@/features/cases/view";
import { readDatasetView } from "@/features/datasets/data";
import { readOverviewView } from "@/features/overview/data";
import { readQueueView } from "@/features/review/queue/view";
import { readRulesView } from "@/features/rules/data";
import { readTraceView } from "@/features/traces/view";
import { Empty, Loading } from "@/ui/states";
import { Shell } from "./Shell";

const root = createRootRoute({ component: Shell, notFoundComponent: Lost, errorComponent: Crashed });
const getParentRoute = () => root;

const traces = createRoute({
  getParentRoute,
  path: "/traces",
  validateSearch: readTraceView,
  component: lazyRouteComponent(() => import("@/features/traces/TracesPage"), "TracesPage"),
});

const trace = createRoute({
  getParentRoute: () => traces,
  path: "$traceId",
  component: lazyRouteComponent(() => import("@/features/traces/TraceRecord"), "TraceRecord"),
});

const cases = createRoute({
  getParentRoute,
  path: "/cases",
  validateSearch: readCaseView,
  component: lazyRouteComponent(() => import("@/features/cases/CasesPage"), "CasesPage"),
});

const oneCase = createRoute({
  getParentRoute: () => cases,
  path: "$dataset/$caseId",
  component: lazyRouteComponent(() => import("@/features/cases/CaseRecord"), "CaseRecord"),
});

const routes = [
  createRoute({
    getParentRoute,
    path: "/",
    validateSearch: readOverviewView,
    component: lazyRouteComponent(() => import("@/features/overview/OverviewPage"), "OverviewPage"),
  }),
  createRoute({
    getParentRoute,
    path: "/rules",
    validateSearch: readRulesView,
    component: lazyRouteComponent(() => import("@/features/rules/RulesPage"), "RulesPage"),
  }),
  traces.addChildren([trace]),
  cases.addChildren([oneCase]),
  createRoute({
    getParentRoute,
    path: "/review",
    validateSearch: readQueueView,
    component: lazyRouteComponent(() => import("@/features/review/queue/ReviewPage"), "ReviewPage"),
  }),
  createRoute({
    getParentRoute,
    path: "/dev/evaldata",
    component: lazyRouteComponent(() => import("@/features/review/validator/ValidatorPage"), "ValidatorPage"),
  }),
  createRoute({
    getParentRoute,
    path: "/datasets",
    component: lazyRouteComponent(() => import("@/features/datasets/DatasetsPage"), "DatasetsPage"),
  }),
  createRoute({
    getParentRoute,
    path: "/datasets/$dataset",
    validateSearch: readDatasetView,
    component: lazyRouteComponent(() => import("@/features/datasets/DatasetPage"), "DatasetPage"),
  }),
  createRoute({
    getParentRoute,
    path: "/benchmarks",
    validateSearch: benchmarksViewOf,
    component: lazyRouteComponent(() => import("@/features/benchmarks/BenchmarksPage"), "BenchmarksPage"),
  }),
  createRoute({
    getParentRoute,
    path: "/benchmarks/runs/$runId",
    validateSearch: runViewOf,
    component: lazyRouteComponent(() => import("@/features/benchmarks/RunPage"), "RunPage"),
  }),
  createRoute({
    getParentRoute,
    path: "/benchmarks/compare",
    validateSearch: compareViewOf,
    component: lazyRouteComponent(() => import("@/features/benchmarks/ComparePage"), "ComparePage"),
  }),
  createRoute({
    getParentRoute,
    path: "/topics",
    component: lazyRouteComponent(() => import("@/features/topics/TopicsPage"), "TopicsPage"),
  }),
  createRoute({
    getParentRoute,
    path: "/settings",
    component: lazyRouteComponent(() => import("@/features/settings/SettingsPage"), "SettingsPage"),
  }),
  createRoute({
    getParentRoute,
    path: "/replay/$dataset/$caseId",
    component: lazyRouteComponent(() => import("@/features/replay/ReplayPage"), "ReplayPage"),
  }),
] as const;

export const router = createRouter({
  routeTree: root.addChildren(routes),
  defaultPreload: "intent",
  scrollRestoration: true,
  defaultPendingComponent: () => <Loading what="page" />,
  defaultErrorComponent: Crashed,
  defaultNotFoundComponent: Lost,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

/** Shown for an address that leads nowhere. The navigation stays usable, as it does on a page that broke. */
function Lost() {
  return (
    <Empty
      level={1}
      title="There is no page here"
      action={
        <Anchor component={Link} to="/">
          Go to the overview
        </Anchor>
      }
    >
      The address may be mistyped, or what it named was deleted.
    </Empty>
  );
}

function Crashed({ error, reset }: ErrorComponentProps) {
  return (
    <Empty level={1} title="This page broke" action={<Button onClick={reset}>Show it again</Button>}>
      <p>Your data is not affected. If it happens again, this line helps whoever looks into it:</p>
      <Code block>{error instanceof Error ? error.message : String(error)}</Code>
    </Empty>
  );
}
