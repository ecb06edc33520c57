/** The door of Cases: the paths it answers to. Pages load when visited. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const casesRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/cases",
    component: lazyRouteComponent(() => import("./CasesPage"), "CasesPage"),
  }),
] as const;
