/** The chain of filters for endpoints. Each filter has a reason, under which the endpoints it excludes are counted. */
import type { MaxPrice, ProviderPreferences } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { TurnRequest } from "../../../turn/request.ts";
import type { DroppedField } from "../../../turn/trace.ts";
import type { Endpoint } from "../catalog.ts";
import { type Filter, buildFilter } from "./filter.ts";
import { featureFilters, withoutUnsupported, lengthFilters, modalityFilters } from "./needs.ts";
import { isNamed, positionIn } from "./slugs.ts";

/** Finds the parts of a request that are not sent to an endpoint. */
export type FindDroppedFields = (endpoint: Endpoint, request: TurnRequest) => readonly DroppedField[];

/** The filters in the order in which they are applied; an excluded endpoint counts under the first filter that excludes it. */
export function buildFilters(request: TurnRequest, lossesOf: FindDroppedFields): readonly Filter[] {
  const { provider } = request;
  const own = [modalityFilters(request), lengthFilters(request), featureFilters(request)] as const;
  if (provider === undefined) return own.flat();
  const [modality, length, features] = own;
  return [
    ...namedFilters(provider),
    ...policyFilters(provider),
    ...modality,
    ...length,
    ...quantizationFilters(provider),
    ...features,
    ...(provider.requireParameters === true ? [supportsEverything(request, lossesOf)] : []),
    ...(provider.maxPrice && limitsAny(provider.maxPrice) ? [affordable(provider.maxPrice)] : []),
  ];
}

function namedFilters({ only, ignore, order, allowFallbacks }: ProviderPreferences): Filter[] {
  const filters: Filter[] = [];
  if (only.length > 0) {
    filters.push(
      buildFilter("allowed_providers", "has no endpoint that provider.only names", (endpoint) =>
        isNamed(endpoint, only),
      ),
    );
  }
  if (ignore.length > 0) {
    filters.push(
      buildFilter(
        "allowed_providers",
        "has no endpoint that provider.ignore leaves",
        (endpoint) => !isNamed(endpoint, ignore),
      ),
    );
  }
  if (order.length > 0 && allowFallbacks === false) {
    filters.push(
      buildFilter(
        "allowed_providers",
        "has no endpoint that provider.order names",
        (endpoint) => positionIn(order, endpoint) !== -1,
      ),
    );
  }
  return filters;
}

function policyFilters(provider: ProviderPreferences): Filter[] {
  const filters: Filter[] = [];
  const denies = provider.dataCollection === "deny";
  if (provider.zdr === true || denies) {
    filters.push(
      buildFilter("data_policy:zdr", "has no endpoint that keeps nothing", ({ keepsNothing }) => keepsNothing),
    );
  }
  if (denies) {
    filters.push(
      buildFilter("data_policy:training", "has no endpoint that does not train", ({ trainsNot }) => trainsNot),
    );
  }
  if (provider.enforceDistillableText === true) {
    filters.push(
      buildFilter("distillable", "has no endpoint whose output may be distilled", ({ distillable }) => distillable),
    );
  }
  return filters;
}

function quantizationFilters({ quantizations }: ProviderPreferences): Filter[] {
  if (quantizations.length === 0) return [];
  return [
    buildFilter("quantization", "has no endpoint of these quantizations", ({ quantization }) =>
      quantizations.includes(quantization),
    ),
  ];
}

function supportsEverything(request: TurnRequest, lossesOf: FindDroppedFields): Filter {
  return buildFilter("require_parameters", "has no endpoint that supports every parameter", (endpoint) => {
    const losses: DroppedField[] = [];
    withoutUnsupported(request, endpoint, losses);
    return losses.length === 0 && lossesOf(endpoint, request).length === 0;
  });
}

/** Whether any price is limited. Without a limit, an endpoint may have any price, and even none that is known. */
const limitsAny = ({ prompt, completion, request, image, audio }: MaxPrice): boolean =>
  [prompt, completion, request, image, audio].some((limit) => limit !== undefined);

const affordable = (max: MaxPrice): Filter =>
  buildFilter(
    "max_price",
    "has no endpoint at that price",
    ({ prices }) =>
      prices !== undefined &&
      prices.prompt <= (max.prompt ?? Number.POSITIVE_INFINITY) &&
      prices.completion <= (max.completion ?? Number.POSITIVE_INFINITY) &&
      prices.request <= (max.request ?? Number.POSITIVE_INFINITY) &&
      prices.image <= (max.image ?? Number.POSITIVE_INFINITY) &&
      prices.audio <= (max.audio ?? Number.POSITIVE_INFINITY),
  );
