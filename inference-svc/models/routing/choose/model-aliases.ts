/** Model aliases, such as the slugs of routers: slugs replaced by models of the catalogue, anew for each request. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Scope } from "../../../turn/scope.ts";
import { requestLayer } from "../../../turn/layer-builders.ts";
import type { Layer } from "../../../turn/turn.ts";
import type { Variant } from "../catalog.ts";
import type { Router, PrepareRequest } from "./router.ts";

export interface ModelAlias {
  readonly slug: string;
  /**
   * Chooses at least one model, best first, and notes the choice in the receipt.
   * @throws Fault when no model can serve the request
   */
  choose(
    request: TurnRequest,
    scope: Scope,
    variant: Variant | undefined,
  ): readonly string[] | Promise<readonly string[]>;
}

/** Maximum number of models that replace a slug: one to try first, and the others as fallbacks. */
export const maxModels = 3;
/** Maximum number of models listed in the receipt. A sticky session keeps its model while the model is among them. */
export const maxListedModels = 5;

/** A layer that replaces these slugs by models, wherever they stand in `models`. */
export const resolveAliases = (all: readonly ModelAlias[], prepare: PrepareRequest): Layer =>
  requestLayer(async (request, scope) => {
    if (!hasAlias(all, request)) return request;
    return { ...request, models: await resolveModels(all, prepare(request, scope), scope) };
  });

export const hasAlias = (all: readonly Pick<ModelAlias, "slug">[], { models }: Pick<TurnRequest, "models">): boolean =>
  models.some((slug) => find(all, slug) !== undefined);

interface AliasMatch<Of> {
  readonly by: Of;
  readonly variant: Variant | undefined;
}

/** Common prefix of all aliases; most requests contain none. */
const prefix = "service/";

function find<Of extends Pick<ModelAlias, "slug">>(all: readonly Of[], slug: string): AliasMatch<Of> | undefined {
  if (!slug.startsWith(prefix)) return undefined;
  const [, base = slug, variant] = /^(.+):(nitro|floor|exacto)$/.exec(slug) ?? [];
  const by = all.find((one) => one.slug === base);
  return by && { by, variant: variant as Variant | undefined };
}

async function resolveModels(
  all: readonly ModelAlias[],
  request: TurnRequest,
  scope: Scope,
): Promise<readonly string[]> {
  const models: string[] = [];
  for (const slug of request.models) {
    const meant = find(all, slug);
    if (meant === undefined) {
      models.push(slug);
      continue;
    }
    const chosen = await meant.by.choose(request, scope, meant.variant);
    models.push(...chosen.map((each) => (meant.variant === undefined ? each : `${each}:${meant.variant}`)));
  }
  return [...new Set(models)];
}

/**
 * Moves the model of the session to the front if it is still among the best; otherwise stores the first model for the
 * session.
 * @param slugs slugs of models, best first
 */
export function applyStickySession(
  slugs: readonly string[],
  slug: string,
  router: Router,
  request: TurnRequest,
  scope: Scope,
): readonly string[] {
  const { models } = withStickyFirst(slugs, router.findStickyModel(request, scope, slug));
  const [first] = models;
  if (first !== undefined) router.rememberModel(request, scope, slug, first);
  return models;
}

/** Moves the model of the session to the front if it is still among the best. */
export function withStickyFirst(
  slugs: readonly string[],
  sticky: string | undefined,
): { readonly models: readonly string[]; readonly isKept: boolean } {
  if (sticky === undefined || !slugs.slice(0, maxListedModels).includes(sticky))
    return { models: slugs, isKept: false };
  return { models: [sticky, ...slugs.filter((each) => each !== sticky)], isKept: true };
}

/** The 404 fault for an alias when no model is available. */
export const noEndpoints = (slug: string, message: string): Fault =>
  new Fault(FaultReason.NO_ENDPOINTS, `${slug}: ${message}`, {
    origin: FaultOrigin.CLIENT,
    metadata: {
      error_type: "not_found",
      availability: { code: "no_endpoints", retryable: false, requested_models: [slug], excluded_by: {} },
    },
  });
