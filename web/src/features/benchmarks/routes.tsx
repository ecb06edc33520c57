/** The door of Benchmarks: the paths it answers to. Pages load when visited. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";
import { benchmarksViewOf, compareViewOf, runViewOf } from "./view";

export const benchmarksRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/benchmarks",
    validateSearch: benchmarksViewOf,
    component: lazyRouteComponent(() => import("./BenchmarksPage"), "BenchmarksPage"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/benchmarks/runs/$runId",
    validateSearch: runViewOf,
    component: lazyRouteComponent(() => import("./RunPage"), "RunPage"),
  }),
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/benchmarks/compare",
    validateSearch: compareViewOf,
    component: lazyRouteComponent(() => import("./ComparePage"), "ComparePage"),
  }),
] as const;
