/** The door of the overview: the first page. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";
import { readOverviewView } from "./view";

export const overviewRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/",
    validateSearch: readOverviewView,
    component: lazyRouteComponent(() => import("./OverviewPage"), "OverviewPage"),
  }),
] as const;
