/** All routes. A feature's own `routes.tsx` is its door: pages behind it load only when visited. */
import { createRouter } from "@tanstack/react-router";
import { benchmarksRoutes } from "@/features/benchmarks/routes";
import { casesRoutes } from "@/features/cases/routes";
import { datasetsRoutes } from "@/features/datasets/routes";
import { overviewRoutes } from "@/features/overview/routes";
import { replayRoutes } from "@/features/replay/routes";
import { reviewRoutes } from "@/features/review/routes";
import { rulesRoutes } from "@/features/rules/routes";
import { tracesRoutes } from "@/features/traces/routes";
import { Loading } from "@/ui/states";
import { Crashed, Lost } from "./Fallbacks";
import { rootRoute } from "./root";

const routeTree = rootRoute.addChildren([
  ...overviewRoutes,
  ...rulesRoutes,
  ...tracesRoutes,
  ...casesRoutes,
  ...reviewRoutes,
  ...datasetsRoutes,
  ...benchmarksRoutes,
  ...replayRoutes,
]);

export const router = createRouter({
  routeTree,
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
