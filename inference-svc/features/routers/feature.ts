/** The router plugins as features of the stack. */
import { autoBetaRouter } from "./auto-beta/router.ts";
import { autoOrder, autoRouter } from "./auto/router.ts";
import { jevOrder, jevRouter } from "./jev/router.ts";
import { paretoRouter } from "./pareto/router.ts";
import { switchyardOrder, switchyardRouter } from "./switchyard/router.ts";

export { jevEffort } from "./jev/router.ts";

/** Features that choose models for a router's slug; each has a slug of its own, so their order does not matter. */
export const routers = [autoRouter, autoBetaRouter, paretoRouter, switchyardRouter, jevRouter] as const;

/** Features that may call a model to decide which of the chosen models is tried first. */
export const routerOrders = [switchyardOrder, autoOrder, jevOrder] as const;
