/** The door of Datasets: all of them, and one with its versions. What is looked at lives in the address. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";
import { readDatasetView } from "./view";

export const datasetsRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/datasets",
    component: lazyRouteComponent(() => import("./DatasetsPage"), "DatasetsPage"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/datasets/$dataset",
    validateSearch: readDatasetView,
    component: lazyRouteComponent(() => import("./DatasetPage"), "DatasetPage"),
  }),
] as const;
