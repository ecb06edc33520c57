/** The door of Cases: the list, and one case beside it. The filters live in the address, so a view can be sent to somebody. */
import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { rootRoute } from "@/app/root";
import { readCaseView } from "./view";

const casesRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: "/cases",
  validateSearch: readCaseView,
  component: lazyRouteComponent(() => import("./CasesPage"), "CasesPage"),
});

const caseRoute = createRoute({
  getParentRoute: () => casesRoute,
  path: "$dataset/$caseId",
  component: lazyRouteComponent(() => import("./CaseRecord"), "CaseRecord"),
});

export const casesRoutes = [casesRoute.addChildren([caseRoute])] as const;
