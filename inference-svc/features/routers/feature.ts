/** The stack entries of the plugins for choosing a model. */
import { autoBetaRouter } from "./auto-beta/router.ts";
import { autoOrder, autoRouter } from "./auto/router.ts";
import { jevOrder, jevRouter } from "./jev/router.ts";
import { paretoRouter } from "./pareto/router.ts";
import { switchyardOrder, switchyardRouter } from "./switchyard/router.ts";

export { jevEffort } from "./jev/router.ts";

/** Each chooses models for a slug; their order does not matter. */
export const routers = [autoRouter, autoBetaRouter, paretoRouter, switchyardRouter, jevRouter] as const;

/** These may call a model to decide which of the chosen models to try first. */
export const routerOrders = [switchyardOrder, autoOrder, jevOrder] as const;
