/** The door of replays: one case, played again. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const replayRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/replay/$dataset/$caseId",
    component: lazyRouteComponent(() => import("./ReplayPage"), "ReplayPage"),
  }),
] as const;
