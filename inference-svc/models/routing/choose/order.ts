/** Sorts the candidate endpoints into the order in which they are tried. */
import type { ProviderPreferences, Percentiles } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { TurnRequest } from "../../../turn/request.ts";
import type { CandidateGroup } from "./candidates.ts";
import type { Endpoint } from "../catalog.ts";
import type { EndpointRecords, EndpointRecord } from "../records/endpoint-record.ts";
import { type Seed, drawRank } from "./rendezvous.ts";
import { positionIn } from "./slugs.ts";
import { addedTier, findTierSort, findVariantSort } from "./tiers.ts";

/** The session of a request, as far as it concerns one model. */
export interface Session {
  /** Seed of the session's random draws. */
  readonly seed: Seed;
  /** Seed of the endpoint that answered the session last; undefined when none has recently. */
  readonly lastEndpoint: Seed | undefined;
}

/** Values that determine the order, in addition to the request. */
export interface OrderDeps {
  readonly records: EndpointRecords;
  /** Finds the session of a request with a model; called only where load is balanced. */
  readonly sessionOf: (model: string) => Session;
  /** Whether this request was chosen to try an ejected endpoint. */
  readonly tries: (endpoint: Endpoint) => boolean;
}

/** A candidate with its sort keys; lower keys come first. */
interface Rank {
  readonly endpoint: Endpoint;
  readonly tier: number;
  /** Configured priority of the endpoint; 0 when the request determines the order. */
  readonly priority: number;
  readonly cost: number;
}

type CostOf = (endpoint: Endpoint) => number;

/** Sorts the endpoints model after model; with `partition: none`, those of all models together. */
export function orderCandidates(
  groups: readonly CandidateGroup[],
  request: TurnRequest,
  circumstances: OrderDeps,
): readonly Endpoint[] {
  const { provider } = request;
  const ranks = groups.map((group) => rankCandidates(group, request, circumstances));
  const merged = provider?.sortPartition === "none" && provider.sortBy !== "" && provider.order.length === 0;
  const lists = merged ? [ranks.flat()] : ranks;
  const arranged = lists.flatMap((list) => sortRanks(list, provider, circumstances));
  // A model may be named twice, in different variants, so duplicates are removed.
  const endpoints = groups.length === 1 ? arranged : [...new Set(arranged)];
  const hasNoFallback = provider?.allowFallbacks === false && provider.order.length === 0;
  return hasNoFallback ? endpoints.slice(0, 1) : endpoints;
}

function rankCandidates(group: CandidateGroup, request: TurnRequest, circumstances: OrderDeps): readonly Rank[] {
  const { pool, variant } = group;
  const costOf = chooseCost(group, request, circumstances);
  const isSorted = sortOf(group, request) !== undefined || (request.provider?.order.length ?? 0) > 0;
  return withTies(group, request, circumstances).map((endpoint) => ({
    endpoint,
    // A variant only adds endpoints of a tier; a tier the request names comes first.
    tier: addedTier(variant) === undefined ? pool.indexOf(endpoint.tier) : 0,
    priority: isSorted ? 0 : endpoint.priority,
    cost: costOf(endpoint),
  }));
}

const sortOf = ({ variant }: CandidateGroup, { provider, serviceTier }: TurnRequest): string | undefined =>
  provider?.sortBy || findVariantSort(variant) || findTierSort(serviceTier);

/** The endpoints in the order for equal costs. Endpoints with equal shares of valid tool calls share the load as without a sort. */
function withTies(group: CandidateGroup, request: TurnRequest, { sessionOf }: OrderDeps): readonly Endpoint[] {
  const { endpoints, model } = group;
  if (sortOf(group, request) !== "exacto" || !endpoints.some(isShared)) return endpoints;
  const costOf = sharing(sessionOf(model));
  return endpoints
    .map((endpoint) => ({ endpoint, tier: 0, priority: 0, cost: costOf(endpoint) }))
    .toSorted(before)
    .map(({ endpoint }) => endpoint);
}

/**
 * Cost of failed tool calls in whole percents, so two endpoints of similar quality share the load. An endpoint without
 * measurements counts as good, so it gets measured.
 */
const toolFailures = (share: number | undefined): number => Math.round(100 * (1 - (share ?? 1)));

function chooseCost(group: CandidateGroup, request: TurnRequest, { records, sessionOf }: OrderDeps): CostOf {
  const { model, endpoints } = group;
  if (request.provider && request.provider.order.length > 0) return asConfigured;
  switch (sortOf(group, request)) {
    case "price":
      return ({ prices }) => prices?.blended ?? Number.POSITIVE_INFINITY;
    // An endpoint without recent measurements comes first, so it gets measured.
    case "throughput":
      return (endpoint) => -(records.find(endpoint)?.throughput.at(0.5, records.now()) ?? Number.POSITIVE_INFINITY);
    case "latency":
      return (endpoint) => records.find(endpoint)?.latency.at(0.5, records.now()) ?? Number.NEGATIVE_INFINITY;
    case "exacto":
      return (endpoint) => toolFailures(records.find(endpoint)?.toolCalls.share(records.now()));
    default:
      return endpoints.some(isShared) ? sharing(sessionOf(model)) : asConfigured;
  }
}

const asConfigured: CostOf = () => 0;

const isShared = ({ loadWeight }: Endpoint): boolean => loadWeight !== undefined;

/**
 * Balances load by weight or price, but puts the endpoint that served the session last first. Endpoints without weight
 * and price follow in the order of the configuration.
 */
const sharing =
  ({ seed: session, lastEndpoint: warm }: Session): CostOf =>
  ({ loadWeight, seed }) => {
    if (warm && seed.high === warm.high && seed.low === warm.low) return Number.NEGATIVE_INFINITY;
    return loadWeight === undefined ? Number.POSITIVE_INFINITY : drawRank(session, seed, loadWeight);
  };

function sortRanks(
  ranks: readonly Rank[],
  provider: ProviderPreferences | undefined,
  { records, tries }: OrderDeps,
): readonly Endpoint[] {
  const endpoints = ranks.toSorted(before).map((rank) => rank.endpoint);
  if (!provider || provider.order.length === 0) return demoteFailing(endpoints, provider, records, tries);
  const places = endpoints.map((endpoint) => ({ endpoint, place: positionIn(provider.order, endpoint) }));
  const named = places.filter(({ place }) => place !== -1).sort((a, b) => a.place - b.place);
  const others = places.filter(({ place }) => place === -1).map(({ endpoint }) => endpoint);
  // An order the request names is kept, whatever the state of the endpoints.
  return [...named.map(({ endpoint }) => endpoint), ...demoteFailing(others, provider, records, tries)];
}

/** Compares two ranks. The difference of two infinite costs is NaN and counts as 0. */
const before = (a: Rank, b: Rank): number => a.tier - b.tier || a.priority - b.priority || a.cost - b.cost || 0;

/**
 * Keeps the given order, but moves endpoints back if they miss the preferred latency or throughput, and ejected
 * endpoints to the end.
 * @param tries whether the request is chosen to try an ejected endpoint again
 */
export function demoteFailing(
  endpoints: readonly Endpoint[],
  provider: ProviderPreferences | undefined,
  records: EndpointRecords,
  tries: (endpoint: Endpoint) => boolean,
): readonly Endpoint[] {
  const now = records.now();
  const last: Endpoint[] = [];
  const later: Endpoint[] = [];
  const first = endpoints.filter((endpoint, index) => {
    const record = records.find(endpoint);
    if (record === undefined) return true;
    // A request tries an ejected endpoint only if it is the first of the order, because later ones may not be reached.
    const out = record.ejection.state(now) !== "in use" && !(index === 0 && tries(endpoint));
    if (out) last.push(endpoint);
    else if (provider && misses(record, provider, now)) later.push(endpoint);
    else return true;
    return false;
  });
  return later.length + last.length === 0 ? endpoints : [...first, ...later, ...last];
}

const shares = { p50: 0.5, p75: 0.75, p90: 0.9, p99: 0.99 } as const;

/** Whether an endpoint misses a preferred limit at the requested percentile. An endpoint without measurements misses none. */
function misses(
  { latency, throughput }: EndpointRecord,
  { preferredMaxLatency: maxLatency, preferredMinThroughput: minThroughput }: ProviderPreferences,
  now: number,
): boolean {
  return (
    anyLimit(maxLatency, (limit, share) => (latency.at(share, now) ?? limit) > limit) ||
    anyLimit(minThroughput, (limit, share) => (throughput.at(1 - share, now) ?? limit) < limit)
  );
}

function anyLimit(limits: Percentiles | undefined, missed: (limit: number, share: number) => boolean): boolean {
  if (limits === undefined) return false;
  return (["p50", "p75", "p90", "p99"] as const).some((name) => {
    const limit = limits[name];
    return limit !== undefined && missed(limit, shares[name]);
  });
}
