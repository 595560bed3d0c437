/** Which endpoints of the models may serve a request; when there are none, why. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { type Problem, Problems } from "@sluice/proto/runtime/validation/problems.js";
import type { TurnRequest } from "../turn/request.ts";
import type { Catalog, CatalogModel, Endpoint, Variant } from "./catalog.ts";
import { type Filter, type LossesOf, type Reason, filtersOf } from "./filters.ts";
import { type Tier, poolOf } from "./tiers.ts";

/** What endpoints can be told. */
export interface Telling {
  /** Why an endpoint cannot be told the request at all; undefined when it can. */
  refusal(endpoint: Endpoint, request: TurnRequest): Problem | undefined;
  /** What it would not be told; only of requests that it can be told. */
  readonly losses: LossesOf;
  /** Whether its web search would have to be left out there; absent where requests with an unavailable one are refused. */
  dropsSearch?(endpoint: Endpoint, request: TurnRequest): boolean;
}

/** The candidates of one entry of `models`, at least one. */
export interface Group {
  /** Slug of the model. */
  readonly model: string;
  readonly variant: Variant | undefined;
  /** Tiers, best first. */
  readonly pool: readonly Tier[];
  /** In the order of the pool, then of the configuration. */
  readonly endpoints: readonly Endpoint[];
}

/** How many endpoints were left out, by the first reason. */
export type Exclusions = Map<string, number>;

export interface CandidateOptions {
  /** Gets what was left out, whatever comes of it. */
  readonly excluded?: Exclusions;
  /** Of guardrails: they are looked at first. */
  readonly policies?: readonly Filter[];
}

/**
 * @throws Fault INVALID_REQUEST for a slug that nobody knows, and when what keeps the last endpoints from serving is what they
 *   would have to be told; PERMISSION_DENIED when guardrails forbid every endpoint; NO_ENDPOINTS when none of the models can serve for
 *   another reason; both with the reasons counted
 */
export function candidatesOf(
  catalog: Catalog,
  request: TurnRequest,
  telling: Telling,
  { excluded = new Map(), policies = [] }: CandidateOptions = {},
): readonly Group[] {
  const asked = request.models.map((slug) => catalog.find(slug) ?? unknown(slug));
  const lossesOf: LossesOf = (endpoint) =>
    telling.refusal(endpoint, request) ? [] : telling.losses(endpoint, request);
  const filters = [...policies, ...filtersOf(request, lossesOf)];
  const report = new Report(excluded);
  const groups: Group[] = [];
  for (const { model, variant } of asked) {
    const pool = poolOf(model, request.serviceTier, variant);
    const endpoints = passing(model, pool, filters, report).filter((endpoint) =>
      report.says(telling.refusal(endpoint, request)),
    );
    if (endpoints.length > 0) groups.push({ model: model.settings.id, variant, pool, endpoints });
  }
  if (groups.length === 0) report.throw(request.models);
  return searching(groups, (endpoint) => telling.dropsSearch?.(endpoint, request) !== true);
}

/** A web search is left out only when none of the endpoints runs it. */
function searching(groups: readonly Group[], runsSearch: (endpoint: Endpoint) => boolean): readonly Group[] {
  const able = groups.flatMap((group) => {
    const endpoints = group.endpoints.filter(runsSearch);
    return endpoints.length === 0 ? [] : [{ ...group, endpoints }];
  });
  return able.length === 0 ? groups : able;
}

function unknown(slug: string): never {
  throw new Fault(FaultReason.INVALID_REQUEST, `model: ${slug} is not in the catalogue`, {
    origin: FaultOrigin.CLIENT,
    metadata: { error_type: "invalid_request", param: "model" },
  });
}

function passing(
  { settings, endpoints }: CatalogModel,
  pool: readonly Tier[],
  filters: readonly Filter[],
  report: Report,
): readonly Endpoint[] {
  const chain = [...filters, inPool(pool)];
  const failed = new Set<Filter>();
  const able = endpoints.filter((endpoint) => {
    const first = chain.find((filter) => !filter.admits(endpoint, settings));
    if (first === undefined) return true;
    failed.add(first);
    report.count(first.reason, first.forbids);
    return false;
  });
  if (able.length === 0) report.refuse(settings.id, [...failed]);
  return pool.length === 1 ? able : pool.flatMap((tier) => able.filter((endpoint) => endpoint.tier === tier));
}

const inPool = (pool: readonly Tier[]): Filter => ({
  reason: "service_tier",
  refusal: "has no endpoint of the tier that was asked for",
  admits: ({ tier }) => pool.includes(tier),
});

/** Why endpoints were left out. */
class Report {
  readonly #refusals: string[] = [];
  readonly #unsayable: Problem[] = [];
  readonly #excluded: Exclusions;
  /** For another reason than that it is forbidden. */
  #isUnable = false;

  constructor(excluded: Exclusions) {
    this.#excluded = excluded;
  }

  count(reason: Reason, forbidden = false): void {
    this.#isUnable ||= !forbidden;
    this.#excluded.set(reason, (this.#excluded.get(reason) ?? 0) + 1);
  }

  /** @param filters that left nothing of the model */
  refuse(model: string, filters: readonly Filter[]): void {
    const [first, ...more] = filters;
    // Each of several is passed by some endpoint: together they are not.
    const reasons = new Set(filters.map(({ reason }) => reason));
    const refusal = more.length === 0 ? first?.refusal : `has no endpoint left after ${[...reasons].join(", ")}`;
    this.#refusals.push(`${model} ${refusal ?? "has no endpoint"}`);
  }

  /** Whether there was nothing to note. */
  says(unsayable: Problem | undefined): boolean {
    if (unsayable === undefined) return true;
    this.#unsayable.push(unsayable);
    this.count("require_parameters");
    return false;
  }

  throw(models: readonly string[]): never {
    this.#throwIfUnsayable();
    const [reason, type, says] = this.#isUnable
      ? ([FaultReason.NO_ENDPOINTS, "not_found", "can"] as const)
      : ([FaultReason.PERMISSION_DENIED, "permission_denied", "may"] as const);
    throw new Fault(reason, `No endpoint ${says} serve this request: ${this.#refusals.join("; ")}`, {
      origin: FaultOrigin.CLIENT,
      metadata: {
        error_type: type,
        availability: {
          code: "no_endpoints",
          retryable: false,
          requested_models: models,
          excluded_by: Object.fromEntries(this.#excluded),
        },
      },
    });
  }

  /** Several endpoints may have the same words missing. */
  #throwIfUnsayable(): void {
    const problems = new Problems();
    const different = new Map(this.#unsayable.map((refusal) => [`${refusal.path} ${refusal.message}`, refusal]));
    for (const { path, message } of different.values()) problems.add(path, message);
    problems.throwIfAny();
  }
}
