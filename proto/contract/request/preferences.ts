/** Converts the preferences of `provider` between JSON and their message. */
import type { MaxPrice, Percentiles, ProviderPreferences } from "../../gen/sluice/inference/v1/turn_pb.ts";

type Unset = null | undefined;
type Price = number | string | Unset;
type Cutoffs = number | { readonly [percentile in "p50" | "p75" | "p90" | "p99"]?: number | Unset };

/** The JSON accepted by the shape of `provider`. */
export type PreferencesJson = {
  readonly [name in "order" | "only" | "ignore" | "quantizations"]?: string[] | null;
} & {
  readonly [name in "allow_fallbacks" | "require_parameters" | "zdr" | "enforce_distillable_text"]?: boolean | null;
} & {
  readonly data_collection?: string | null;
  readonly sort?: string | { readonly by?: string | null; readonly partition?: string | null } | null;
  readonly max_price?:
    | {
        readonly [unit in "prompt" | "completion" | "request" | "image" | "audio"]?: Price;
      }
    | null;
  readonly preferred_min_throughput?: Cutoffs | null;
  readonly preferred_max_latency?: Cutoffs | null;
};

export function preferencesMessage(json: PreferencesJson): ProviderPreferences {
  const { sort } = json;
  const { by, partition } = typeof sort === "string" ? { by: sort, partition: undefined } : (sort ?? {});
  return {
    $typeName: "sluice.inference.v1.ProviderPreferences",
    order: json.order ?? [],
    only: json.only ?? [],
    ignore: json.ignore ?? [],
    allowFallbacks: json.allow_fallbacks ?? undefined,
    requireParameters: json.require_parameters ?? undefined,
    dataCollection: json.data_collection ?? "",
    zdr: json.zdr ?? undefined,
    enforceDistillableText: json.enforce_distillable_text ?? undefined,
    quantizations: json.quantizations ?? [],
    sortBy: by ?? "",
    sortPartition: partition ?? "",
    maxPrice: json.max_price ? maxPriceMessage(json.max_price) : undefined,
    preferredMinThroughput: percentilesMessage(json.preferred_min_throughput),
    preferredMaxLatency: percentilesMessage(json.preferred_max_latency),
  };
}

/** Floats keep the order of decimals, which is enough to compare them. */
const priceOf = (price: Price): number | undefined =>
  price === null || price === undefined ? undefined : Number(price);

const maxPriceMessage = (json: NonNullable<PreferencesJson["max_price"]>): MaxPrice => ({
  $typeName: "sluice.inference.v1.MaxPrice",
  prompt: priceOf(json.prompt),
  completion: priceOf(json.completion),
  request: priceOf(json.request),
  image: priceOf(json.image),
  audio: priceOf(json.audio),
});

function percentilesMessage(cutoffs: Cutoffs | Unset): Percentiles | undefined {
  if (cutoffs === null || cutoffs === undefined) return undefined;
  const { p50, p75, p90, p99 } = typeof cutoffs === "number" ? { p50: cutoffs } : cutoffs;
  return {
    $typeName: "sluice.inference.v1.Percentiles",
    p50: p50 ?? undefined,
    p75: p75 ?? undefined,
    p90: p90 ?? undefined,
    p99: p99 ?? undefined,
  };
}

/** The JSON of a message, for checks by shape. An empty field of the message becomes null. */
export const preferencesJson = (message: ProviderPreferences): PreferencesJson => ({
  order: message.order,
  only: message.only,
  ignore: message.ignore,
  data_collection: message.dataCollection || null,
  quantizations: message.quantizations,
  sort: { by: message.sortBy || null, partition: message.sortPartition || null },
  max_price: message.maxPrice ? withoutTypeName(message.maxPrice) : null,
  preferred_min_throughput: message.preferredMinThroughput ? withoutTypeName(message.preferredMinThroughput) : null,
  preferred_max_latency: message.preferredMaxLatency ? withoutTypeName(message.preferredMaxLatency) : null,
});

/** Removes the type name, which does not exist in JSON. */
function withoutTypeName<Fields extends object>(message: Fields): Fields {
  const { $typeName: _, ...fields } = message as Fields & { readonly $typeName: string };
  return fields as unknown as Fields;
}
