/** The door of Benchmarks: the paths it answers to. Pages load when visited. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";

export const benchmarksRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/benchmarks",
    component: lazyRouteComponent(() => import("./BenchmarksPage"), "BenchmarksPage"),
  }),
] as const;
