/** The door of Datasets: the paths it answers to. Pages load when visited. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const datasetsRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/datasets",
    component: lazyRouteComponent(() => import("./DatasetsPage"), "DatasetsPage"),
  }),
] as const;
