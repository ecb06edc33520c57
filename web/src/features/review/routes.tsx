/** The door of Review: the paths it answers to. Pages load when visited. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const reviewRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/review",
    component: lazyRouteComponent(() => import("./ReviewPage"), "ReviewPage"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/dev/evaldata",
    component: lazyRouteComponent(() => import("./validator/ValidatorPage"), "ValidatorPage"),
  }),
] as const;
