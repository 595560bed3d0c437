/** The order in which candidates are tried. */
import type { ProviderPreferences } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { TurnRequest } from "../turn/request.ts";
import type { Group } from "./candidates.ts";
import type { Endpoint } from "./catalog.ts";
import { demoted } from "./demotion.ts";
import type { EndpointRecords } from "./endpoint-record.ts";
import { type Seed, draw } from "./rendezvous.ts";
import { placeIn } from "./slugs.ts";
import { sortOfTier, sortOfVariant } from "./tiers.ts";

/** A request's session with a model. */
export interface Session {
  /** What it draws with. */
  readonly seed: Seed;
  /** What the endpoint draws with that answered it last. */
  readonly warm: Seed | undefined;
}

/** What is known beside the request. */
export interface Circumstances {
  readonly records: EndpointRecords;
  /** Asked only where load is shared. */
  readonly sessionOf: (model: string) => Session;
  /** Whether the request is to be the one that tries an endpoint in an outage. */
  readonly tries: (endpoint: Endpoint) => boolean;
}

/** A candidate with what decides about its place; the lower the earlier. */
interface Rank {
  readonly endpoint: Endpoint;
  readonly tier: number;
  readonly cost: number;
}

type CostOf = (endpoint: Endpoint) => number;

/** One model after the other; where the request says so, all as if they were one. */
export function arrange(
  groups: readonly Group[],
  request: TurnRequest,
  circumstances: Circumstances,
): readonly Endpoint[] {
  const { provider } = request;
  const [only] = groups;
  if (groups.length === 1 && only!.endpoints.length === 1) return only!.endpoints;
  const ranks = groups.map((group) => ranksOf(group, request, circumstances));
  const merged = provider?.sortPartition === "none" && provider.sortBy !== "" && provider.order.length === 0;
  const lists = merged ? [ranks.flat()] : ranks;
  const arranged = lists.flatMap((list) => settled(list, provider, circumstances));
  // A model may be asked for twice, in different variants.
  const endpoints = groups.length === 1 ? arranged : [...new Set(arranged)];
  const alone = provider?.allowFallbacks === false && provider.order.length === 0;
  return alone ? endpoints.slice(0, 1) : endpoints;
}

function ranksOf(group: Group, request: TurnRequest, circumstances: Circumstances): readonly Rank[] {
  const { endpoints, pool, variant } = group;
  const costOf = costIn(group, request, circumstances);
  return endpoints.map((endpoint) => ({
    endpoint,
    // A variant makes tiers available; a tier that was asked for comes first.
    tier: variant === undefined ? pool.indexOf(endpoint.tier) : 0,
    cost: costOf(endpoint),
  }));
}

function costIn(
  { model, endpoints, variant }: Group,
  { provider, serviceTier }: TurnRequest,
  { records, sessionOf }: Circumstances,
): CostOf {
  if (provider && provider.order.length > 0) return asConfigured;
  switch (provider?.sortBy || sortOfVariant(variant) || sortOfTier(serviceTier)) {
    case "price":
      return ({ prices }) => prices?.blended ?? Number.POSITIVE_INFINITY;
    // What was not measured lately comes first: that measures it.
    case "throughput":
      return (endpoint) => -(records.find(endpoint)?.throughput.at(0.5, records.now()) ?? Number.POSITIVE_INFINITY);
    case "latency":
      return (endpoint) => records.find(endpoint)?.latency.at(0.5, records.now()) ?? Number.NEGATIVE_INFINITY;
    default:
      return endpoints.some(({ prices }) => prices) ? sharing(sessionOf(model)) : asConfigured;
  }
}

const asConfigured: CostOf = () => 0;

/** Shares by price, but where it was served last comes first. What has no price has no share: it follows in the order of the configuration. */
const sharing =
  ({ seed: session, warm }: Session): CostOf =>
  ({ prices, seed }) => {
    if (warm && seed.high === warm.high && seed.low === warm.low) return Number.NEGATIVE_INFINITY;
    return prices ? draw(session, seed, prices.weight) : Number.POSITIVE_INFINITY;
  };

function settled(
  ranks: readonly Rank[],
  provider: ProviderPreferences | undefined,
  { records, tries }: Circumstances,
): readonly Endpoint[] {
  const endpoints = ranks.toSorted(before).map((rank) => rank.endpoint);
  if (!provider || provider.order.length === 0) return demoted(endpoints, provider, records, tries);
  const places = endpoints.map((endpoint) => ({ endpoint, place: placeIn(provider.order, endpoint) }));
  const named = places.filter(({ place }) => place !== -1).sort((a, b) => a.place - b.place);
  const others = places.filter(({ place }) => place === -1).map(({ endpoint }) => endpoint);
  // Whoever names an order means it, whatever was seen of the endpoints.
  return [...named.map(({ endpoint }) => endpoint), ...demoted(others, provider, records, tries)];
}

/** Two infinite costs are the same: their difference is no number. */
const before = (a: Rank, b: Rank): number => a.tier - b.tier || a.cost - b.cost || 0;
