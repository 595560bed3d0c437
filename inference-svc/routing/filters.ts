/** The chain of filters that an endpoint must pass. Each one has a reason that is counted when nothing is left. */
import type { MaxPrice, ProviderPreferences } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { ModelSettings } from "@sluice/proto/runtime/house-file.js";
import type { TurnRequest } from "../turn/request.ts";
import type { Loss } from "../turn/scope.ts";
import type { Endpoint } from "./catalog.ts";
import { featureNeeds, fitted, lengthNeeds, modalityNeeds } from "./needs.ts";
import { isNamed, placeIn } from "./slugs.ts";

/** By the words of `excluded_by`. */
export type Reason =
  | "allowed_models"
  | "allowed_providers"
  | "data_region"
  | "data_policy:zdr"
  | "data_policy:training"
  | "data_policy:publication"
  | "distillable"
  | "modality"
  | "context_length"
  | "quantization"
  | "require_parameters"
  | "max_price"
  | "service_tier";

export interface Filter {
  readonly reason: Reason;
  /** Completes "<model> ..." where an endpoint is left out. */
  readonly refusal: string;
  admits(endpoint: Endpoint, model: ModelSettings): boolean;
  /** Set when whoever asks for what it leaves out is not allowed to. */
  readonly forbids?: true;
}

/** What an endpoint would not be told of a request. */
export type LossesOf = (endpoint: Endpoint, request: TurnRequest) => readonly Loss[];

export const filter = (reason: Reason, refusal: string, admits: Filter["admits"]): Filter => ({
  reason,
  refusal,
  admits,
});

/** In the order in which they are looked at: an endpoint counts for the first that it does not pass. */
export function filtersOf(request: TurnRequest, lossesOf: LossesOf): readonly Filter[] {
  const { provider } = request;
  const own = [modalityNeeds(request), lengthNeeds(request), featureNeeds(request)] as const;
  if (provider === undefined) return own.flat();
  const [modality, length, features] = own;
  return [
    ...namedFilters(provider),
    ...policyFilters(provider),
    ...modality,
    ...length,
    ...quantizationFilters(provider),
    ...features,
    ...(provider.requireParameters === true ? [toldEverything(request, lossesOf)] : []),
    ...(provider.maxPrice && limitsAny(provider.maxPrice) ? [affordable(provider.maxPrice)] : []),
  ];
}

function namedFilters({ only, ignore, order, allowFallbacks }: ProviderPreferences): Filter[] {
  const filters: Filter[] = [];
  if (only.length > 0) {
    filters.push(
      filter("allowed_providers", "has no endpoint that provider.only names", (endpoint) => isNamed(endpoint, only)),
    );
  }
  if (ignore.length > 0) {
    filters.push(
      filter(
        "allowed_providers",
        "has no endpoint that provider.ignore leaves",
        (endpoint) => !isNamed(endpoint, ignore),
      ),
    );
  }
  if (order.length > 0 && allowFallbacks === false) {
    filters.push(
      filter(
        "allowed_providers",
        "has no endpoint that provider.order names",
        (endpoint) => placeIn(order, endpoint) !== -1,
      ),
    );
  }
  return filters;
}

function policyFilters(provider: ProviderPreferences): Filter[] {
  const filters: Filter[] = [];
  const denies = provider.dataCollection === "deny";
  if (provider.zdr === true || denies) {
    filters.push(filter("data_policy:zdr", "has no endpoint that keeps nothing", ({ keepsNothing }) => keepsNothing));
  }
  if (denies) {
    filters.push(filter("data_policy:training", "has no endpoint that does not train", ({ trainsNot }) => trainsNot));
  }
  if (provider.enforceDistillableText === true) {
    filters.push(
      filter("distillable", "has no endpoint whose output may be distilled", ({ distillable }) => distillable),
    );
  }
  return filters;
}

function quantizationFilters({ quantizations }: ProviderPreferences): Filter[] {
  if (quantizations.length === 0) return [];
  return [
    filter("quantization", "has no endpoint of these quantizations", ({ quantization }) =>
      quantizations.includes(quantization),
    ),
  ];
}

function toldEverything(request: TurnRequest, lossesOf: LossesOf): Filter {
  return filter("require_parameters", "has no endpoint that supports every parameter", (endpoint) => {
    const losses: Loss[] = [];
    fitted(request, endpoint, losses);
    return losses.length === 0 && lossesOf(endpoint, request).length === 0;
  });
}

/** Without a limit an endpoint may be of any price, also of an unknown one. */
const limitsAny = ({ prompt, completion, request, image, audio }: MaxPrice): boolean =>
  [prompt, completion, request, image, audio].some((limit) => limit !== undefined);

const affordable = (most: MaxPrice): Filter =>
  filter(
    "max_price",
    "has no endpoint at that price",
    ({ prices }) =>
      prices !== undefined &&
      prices.prompt <= (most.prompt ?? Number.POSITIVE_INFINITY) &&
      prices.completion <= (most.completion ?? Number.POSITIVE_INFINITY) &&
      prices.request <= (most.request ?? Number.POSITIVE_INFINITY) &&
      prices.image <= (most.image ?? Number.POSITIVE_INFINITY) &&
      prices.audio <= (most.audio ?? Number.POSITIVE_INFINITY),
  );
