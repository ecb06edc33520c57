/** The door of Overview: the paths it answers to. Pages load when visited. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const overviewRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/",
    component: lazyRouteComponent(() => import("./OverviewPage"), "OverviewPage"),
  }),
] as const;
