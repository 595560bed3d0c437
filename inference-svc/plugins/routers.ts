/** The stack entries of the plugins for choosing a model. */
import { autoBetaRouter } from "./auto-beta-router/plugin.ts";
import { autoOrder, autoRouter } from "./auto-router/plugin.ts";
import { jevOrder, jevRouter } from "./jev-router/plugin.ts";
import { paretoRouter } from "./pareto-router/plugin.ts";
import { switchyardOrder, switchyardRouter } from "./switchyard-router/plugin.ts";

export { jevEffort } from "./jev-router/plugin.ts";

/** Each chooses models for a slug; their order does not matter. */
export const routers = [autoRouter, autoBetaRouter, paretoRouter, switchyardRouter, jevRouter] as const;

/** These may call a model to decide which of the chosen models to try first. */
export const routerOrders = [switchyardOrder, autoOrder, jevOrder] as const;
