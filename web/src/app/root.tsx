/** The root route. Features attach their routes to it and know nothing of each other. */
import { createRootRoute } from "@tanstack/react-router";
import { Crashed, Lost } from "./Fallbacks";
import { Shell } from "./Shell";

export const rootRoute = createRootRoute({ component: Shell, notFoundComponent: Lost, errorComponent: Crashed });
