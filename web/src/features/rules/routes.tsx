/** The door of the curation rules. They are reached from the overview, which says what the rules keep out. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";
import { readRulesView } from "./view";

export const rulesRoutes = [
  createRoute({
    getParentRoute: () => rootRoute,
    path: "/rules",
    validateSearch: readRulesView,
    component: lazyRouteComponent(() => import("./RulesPage"), "RulesPage"),
  }),
] as const;
