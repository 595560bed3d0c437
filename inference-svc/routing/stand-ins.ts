/** Slugs that stand for models of the catalogue: who is meant is chosen for each request. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { TurnRequest } from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import { type Layer, onRequest } from "../turn/turn.ts";
import type { Variant } from "./catalog.ts";
import type { Router, Told } from "./router.ts";

export interface StandIn {
  readonly slug: string;
  /**
   * Slugs of models, best first, at least one; said in the account of the turn, too.
   * @throws Fault when nobody can serve
   */
  choose(
    request: TurnRequest,
    scope: Scope,
    variant: Variant | undefined,
  ): readonly string[] | Promise<readonly string[]>;
}

/** The one that is asked, and those that stand behind it. */
export const mostModels = 3;
/** Of the receipt. A session stays with a model that is among them. */
export const mostShown = 5;

/** Puts models in the place of the slugs, wherever in `models` they stand. */
export const standIns = (all: readonly StandIn[], told: Told): Layer =>
  onRequest(async (request, scope) => {
    if (!namesOneOf(all, request)) return request;
    return { ...request, models: await chosenFor(all, told(request, scope), scope) };
  });

export const namesOneOf = (all: readonly StandIn[], { models }: TurnRequest): boolean =>
  models.some((slug) => find(all, slug) !== undefined);

interface Meant {
  readonly by: StandIn;
  readonly variant: Variant | undefined;
}

/** What they all begin with: most requests name none of them. */
const prefix = "service/";

function find(all: readonly StandIn[], slug: string): Meant | undefined {
  if (!slug.startsWith(prefix)) return undefined;
  const [, base = slug, variant] = /^(.+):(nitro|floor)$/.exec(slug) ?? [];
  const by = all.find((one) => one.slug === base);
  return by && { by, variant: variant as Variant | undefined };
}

async function chosenFor(all: readonly StandIn[], request: TurnRequest, scope: Scope): Promise<readonly string[]> {
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
 * A session that was given one of the best lately keeps it; else the first is noted for it.
 * @param slugs best first
 * @returns the same, with the one that is kept in front
 */
export function stayed(
  slugs: readonly string[],
  standIn: string,
  router: Router,
  request: TurnRequest,
  scope: Scope,
): readonly string[] {
  const before = router.chosen(request, scope, standIn);
  const kept = before !== undefined && slugs.slice(0, mostShown).includes(before) ? before : undefined;
  const [first] = kept === undefined ? slugs : [kept];
  if (first !== undefined) router.choose(request, scope, standIn, first);
  return kept === undefined ? slugs : [kept, ...slugs.filter((each) => each !== kept)];
}

/** What is 404: a slug for which nobody is left. */
export const nobodyFor = (slug: string, message: string): Fault =>
  new Fault(FaultReason.NO_ENDPOINTS, `${slug}: ${message}`, {
    origin: FaultOrigin.CLIENT,
    metadata: {
      error_type: "not_found",
      availability: { code: "no_endpoints", retryable: false, requested_models: [slug], excluded_by: {} },
    },
  });
