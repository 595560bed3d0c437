/** Finds the endpoints of the models that may serve a request, or the reason why none may. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { notPermitted } from "../../../turn/permissions.ts";
import { type Problem, Problems, invalid } from "@sluice/proto/lib/validation/problems.js";
import type { TurnRequest } from "../../../turn/request.ts";
import {
  type Catalog,
  type CatalogModel,
  type Endpoint,
  type FoundModel,
  type Variant,
  isEmbeddingModel,
} from "../catalog.ts";
import { type FindDroppedFields, buildFilters } from "./filters.ts";
import type { Filter, ExclusionReason } from "./filter.ts";
import { type ServiceTier, findTierPool } from "./tiers.ts";

/** Tells which parts of requests the dialects of endpoints can express. */
export interface DialectSupport {
  /** Why the request cannot be sent to an endpoint at all; undefined when it can. */
  refusal(endpoint: Endpoint, request: TurnRequest): Problem | undefined;
  /** Finds the parts of the request that are not sent to an endpoint; only for requests without a refusal. */
  readonly droppedFields: FindDroppedFields;
  /** Whether the request would be sent to an endpoint without its web search; absent when such requests are refused. */
  dropsSearch?(endpoint: Endpoint, request: TurnRequest): boolean;
}

/** The candidates for one entry of `models`; at least one. */
export interface CandidateGroup {
  /** Slug of the model. */
  readonly model: string;
  readonly variant: Variant | undefined;
  /** Service tiers the request allows, best first. */
  readonly pool: readonly ServiceTier[];
  /** Endpoints in the order of the tiers, then of the configuration. */
  readonly endpoints: readonly Endpoint[];
}

/** Number of excluded endpoints, by the first filter that excluded them. */
export type Exclusions = Map<string, number>;

export interface CandidateOptions {
  /** Receives the numbers of excluded endpoints, even when the request is refused. */
  readonly excluded?: Exclusions;
  /** Filters of permissions and guardrails, applied before the filters of the request. */
  readonly policies?: readonly Filter[];
}

/**
 * @throws Fault NOT_FOUND for an unknown slug; INVALID_REQUEST when no endpoint can express the request;
 * PERMISSION_DENIED when a permission alone leaves none, or guardrails forbid every endpoint; NO_ENDPOINTS when no
 * model can serve for another reason. The last two faults contain the reasons with the number of endpoints excluded.
 */
export function findCandidates(
  catalog: Catalog,
  request: TurnRequest,
  dialects: DialectSupport,
  { excluded = new Map(), policies = [] }: CandidateOptions = {},
): readonly CandidateGroup[] {
  const requested = findModels(catalog, request);
  const lossesOf: FindDroppedFields = (endpoint) =>
    dialects.refusal(endpoint, request) ? [] : dialects.droppedFields(endpoint, request);
  const filters = [...policies, ...buildFilters(request, lossesOf)];
  const find = (chain: readonly Filter[]): readonly CandidateGroup[] => {
    excluded.clear();
    const report = new ExclusionReport(excluded);
    const groups: CandidateGroup[] = [];
    for (const { model, variant } of requested) {
      const pool = findTierPool(model, request.serviceTier, variant);
      const endpoints = passing(model, pool, chain, report).filter((endpoint) =>
        report.says(dialects.refusal(endpoint, request)),
      );
      if (endpoints.length > 0) groups.push({ model: model.settings.id, variant, pool, endpoints });
    }
    if (groups.length > 0) return groups;
    const yielding = chain.find(({ reason, yields }) => yields === true && excluded.has(reason));
    return yielding ? find(chain.filter((each) => each !== yielding)) : report.throw(request.models);
  };
  return searching(find(filters), (endpoint) => dialects.dropsSearch?.(endpoint, request) !== true);
}

/** Finds the models of a request. @throws Fault NOT_FOUND for an unknown slug; INVALID_REQUEST for a model of the wrong kind */
export function findModels(
  catalog: Catalog,
  request: Pick<TurnRequest, "models" | "embedding">,
): readonly FoundModel[] {
  const requested = request.models.map((slug) => catalog.find(slug) ?? unknown(slug, catalog));
  for (const { model } of requested) checkKind(model, request);
  return requested;
}

/** Drops endpoints without web search while at least one endpoint has it. */
function searching(
  groups: readonly CandidateGroup[],
  runsSearch: (endpoint: Endpoint) => boolean,
): readonly CandidateGroup[] {
  const able = groups.flatMap((group) => {
    const endpoints = group.endpoints.filter(runsSearch);
    return endpoints.length === 0 ? [] : [{ ...group, endpoints }];
  });
  return able.length === 0 ? groups : able;
}

/**
 * An unknown model gives 404, as at the vendors: SDKs have a class of errors for it, and some programs retry after 400
 * with one feature less each time.
 */
function unknown(slug: string, { names }: Catalog): never {
  throw new Fault(FaultReason.NOT_FOUND, `model: ${slug} ${names.explain(slug)}`, {
    origin: FaultOrigin.CLIENT,
    metadata: { error_type: "not_found", code: "model_not_found", param: "model", unknown_model: slug },
  });
}

/**
 * Checks that the model gives what is requested. @throws Fault INVALID_REQUEST for an embedding model in a request for
 * an answer, and for any other model in an embeddings request
 */
function checkKind({ settings }: CatalogModel, { embedding }: Pick<TurnRequest, "embedding">): void {
  if (isEmbeddingModel(settings) === (embedding !== undefined)) return;
  throw invalid(
    "model",
    embedding
      ? `${settings.id} gives no embeddings; GET /models?output_modalities=embeddings lists the models that do`
      : `${settings.id} is an embedding model; use POST /embeddings`,
  );
}

function passing(
  { settings, endpoints }: CatalogModel,
  pool: readonly ServiceTier[],
  filters: readonly Filter[],
  report: ExclusionReport,
): readonly Endpoint[] {
  const chain = [...filters, inPool(pool)];
  const failed = new Set<Filter>();
  const able = endpoints.filter((endpoint) => {
    const first = chain.find((filter) => !filter.admits(endpoint, settings));
    if (first === undefined) return true;
    failed.add(first);
    report.count(first.reason, first.forbids);
    // The permission is the reason (403) only if all other filters admit the endpoint; otherwise the status is 404.
    if (first.refused && chain.every((filter) => filter.refused || filter.admits(endpoint, settings))) {
      report.deny(first.refused(endpoint));
    }
    return false;
  });
  if (able.length === 0) report.refuse(settings.id, [...failed]);
  return pool.length === 1 ? able : pool.flatMap((tier) => able.filter((endpoint) => endpoint.tier === tier));
}

const inPool = (pool: readonly ServiceTier[]): Filter => ({
  reason: "service_tier",
  refusal: "has no endpoint of the requested tier",
  admits: ({ tier }) => pool.includes(tier),
});

type RefusedName = ReturnType<NonNullable<Filter["refused"]>>;

/** Collects the reasons why endpoints were excluded. */
class ExclusionReport {
  readonly #refusals: string[] = [];
  readonly #unsayable: Problem[] = [];
  readonly #excluded: Exclusions;
  #denied: RefusedName | undefined;
  /** Whether an endpoint was excluded for a reason other than a guardrail. */
  #isUnable = false;

  constructor(excluded: Exclusions) {
    this.#excluded = excluded;
  }

  /** Notes a permission that is the only reason for excluding an endpoint; the first one is shown to the client. */
  deny(refused: RefusedName): void {
    this.#denied ??= refused;
  }

  count(reason: ExclusionReason, forbidden = false): void {
    this.#isUnable ||= !forbidden;
    this.#excluded.set(reason, (this.#excluded.get(reason) ?? 0) + 1);
  }

  /** @param filters filters that together left no endpoint of the model */
  refuse(model: string, filters: readonly Filter[]): void {
    const [first, ...more] = filters;
    // Each filter admits some endpoint; only together they exclude all.
    const reasons = new Set(filters.map(({ reason }) => reason));
    const refusal = more.length === 0 ? first?.refusal : `has no endpoint left after ${[...reasons].join(", ")}`;
    this.#refusals.push(`${model} ${refusal ?? "has no endpoint"}`);
  }

  /** Notes a refusal by a dialect. @returns whether there was none */
  says(unsayable: Problem | undefined): boolean {
    if (unsayable === undefined) return true;
    this.#unsayable.push(unsayable);
    this.count("require_parameters");
    return false;
  }

  throw(models: readonly string[]): never {
    const availability = {
      code: "no_endpoints",
      retryable: false,
      requested_models: models,
      excluded_by: Object.fromEntries(this.#excluded),
    };
    if (this.#denied) throw notPermitted(this.#denied.kind, this.#denied.value, { availability });
    this.#throwIfUnsayable();
    const [reason, type, says] = this.#isUnable
      ? ([FaultReason.NO_ENDPOINTS, "not_found", "can"] as const)
      : ([FaultReason.PERMISSION_DENIED, "permission_denied", "may"] as const);
    throw new Fault(reason, `No endpoint ${says} serve this request: ${this.#refusals.join("; ")}`, {
      origin: FaultOrigin.CLIENT,
      metadata: {
        error_type: type,
        availability,
      },
    });
  }

  /** Throws the refusals of dialects, each of them once, since several endpoints may refuse for the same reason. */
  #throwIfUnsayable(): void {
    const problems = new Problems();
    const different = new Map(this.#unsayable.map((refusal) => [`${refusal.path} ${refusal.message}`, refusal]));
    for (const { path, message } of different.values()) problems.add(path, message);
    problems.throwIfAny();
  }
}
