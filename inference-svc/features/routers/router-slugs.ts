/** The choice of models and endpoints, as features of the stack. */
import type { FeatureOf } from "../../turn/feature.ts";
import { type ModelAlias, resolveAliases } from "../../models/routing/choose/model-aliases.ts";
import { type PrepareRequest, type Router, noteCandidates } from "../../models/routing/choose/router.ts";
import { applies } from "../applies.ts";

interface Needs {
  readonly router: Router;
  readonly toProviderRequest: PrepareRequest;
}

/** Feature that lists the endpoints able to serve the request. */
export const candidatesFeature: FeatureOf<Needs> = {
  id: "candidates",
  applies: applies.candidates,
  layer: ({ router, toProviderRequest }) => noteCandidates(router, toProviderRequest),
};

/** A router plugin: it has a slug, and chooses among models of the catalogue. */
export interface RouterFeature {
  readonly id: string;
  readonly slug: string;
  readonly choose: (router: Router) => ModelAlias["choose"];
}

/** Feature that replaces the slugs of routers by models. */
export const routerSlugs = (routers: readonly RouterFeature[]): FeatureOf<Needs> => ({
  id: "router-slugs",
  applies: applies.routerSlugs,
  layer: ({ router, toProviderRequest }) =>
    resolveAliases(
      routers.map(({ slug, choose }) => ({ slug, choose: choose(router) })),
      toProviderRequest,
    ),
});
