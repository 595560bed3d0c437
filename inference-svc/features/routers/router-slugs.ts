/** Routing as features of the stack. */
import type { FeatureOf } from "../../turn/feature.ts";
import type { TurnRequest } from "../../turn/request.ts";
import { type ModelAlias, namesAlias, resolveAliases } from "../../models/routing/choose/model-aliases.ts";
import { type PrepareRequest, type Router, noteCandidates } from "../../models/routing/choose/router.ts";

interface Needs {
  readonly router: Router;
  readonly told: PrepareRequest;
}

/** Lists the possible endpoints. */
export const candidates: FeatureOf<Needs> = {
  id: "candidates",
  applies: () => true,
  layer: ({ router, told }) => noteCandidates(router, told),
};

/** A plugin behind a slug that chooses among models of the catalogue. */
export interface RouterFeature {
  readonly id: string;
  readonly slug: string;
  readonly choose: (router: Router) => ModelAlias["choose"];
}

/** Replaces router slugs by models. */
export const routerSlugs = (routers: readonly RouterFeature[]): FeatureOf<Needs> => ({
  id: "router-slugs",
  applies: (request) => namesAlias(routers, request),
  layer: ({ router, told }) =>
    resolveAliases(
      routers.map(({ slug, choose }) => ({ slug, choose: choose(router) })),
      told,
    ),
});

/** Whether the request names the slug, with or without a variant. */
export const namesSlug = ({ models }: TurnRequest, slug: string): boolean =>
  models.some((model) => model.startsWith(slug) && (model.length === slug.length || model[slug.length] === ":"));
