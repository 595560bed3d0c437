/** The entries of the stack that make up the plugins which choose a model. */
import { autoBetaRouter } from "./auto-beta-router/plugin.ts";
import { autoOrder, autoRouter } from "./auto-router/plugin.ts";
import { jevOrder, jevRouter } from "./jev-router/plugin.ts";
import { paretoRouter } from "./pareto-router/plugin.ts";
import { switchyardOrder, switchyardRouter } from "./switchyard-router/plugin.ts";

export { jevEffort } from "./jev-router/plugin.ts";

/** They choose models for a slug; their order does not matter. */
export const routers = [autoRouter, autoBetaRouter, paretoRouter, switchyardRouter, jevRouter] as const;

/** They may ask a model which of the chosen models to try first. */
export const routerOrders = [switchyardOrder, autoOrder, jevOrder] as const;
