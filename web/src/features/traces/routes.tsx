/** The door of Traces: the list, and one trace beside it. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";
import { readTraceView } from "./view";

const listRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/traces",
  validateSearch: readTraceView,
  component: lazyRouteComponent(() => import("./TracesPage"), "TracesPage"),
});

const traceRoute = createRoute({
  getParentRoute: () => listRoute,
  path: "$traceId",
  component: lazyRouteComponent(() => import("./TraceRecord"), "TraceRecord"),
});

export const tracesRoutes = [listRoute.addChildren([traceRoute])] as const;
