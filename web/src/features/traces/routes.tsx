/** The door of Traces: the paths it answers to. Pages load when visited. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const tracesRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/traces",
    component: lazyRouteComponent(() => import("./TracesPage"), "TracesPage"),
  }),
] as const;
