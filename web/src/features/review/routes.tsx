/** The door of Review: the paths it answers to. Pages load when visited. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";
import { readQueueView } from "./queue/view";

export const reviewRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/review",
    validateSearch: readQueueView,
    component: lazyRouteComponent(() => import("./ReviewPage"), "ReviewPage"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/dev/evaldata",
    component: lazyRouteComponent(() => import("./validator/ValidatorPage"), "ValidatorPage"),
  }),
] as const;
