/**
 * The catalogue as Sluice's API shows it: the operator's configuration, with measurements of this process. It never
 * contains API keys or addresses.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  EndpointSchema,
  MeasuredSchema,
  PricingSchema,
  ProviderSchema,
} from "@sluice/proto/gen/sluice/inference/v1/catalogue_pb.js";
import type { ModelSchema } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { EndpointSettings, ProviderSettings } from "@sluice/proto/config/config-file.js";
import { dialectTraits } from "@sluice/proto/config/provider.js";
import type { Permissions } from "../../../turn/permissions.ts";
import type { Catalog, CatalogModel, Endpoint } from "../catalog.ts";
import { isPermitted } from "../choose/permitted-endpoints.ts";
import type { Ejection } from "../attempt/ejection.ts";
import type { EndpointRecords } from "./endpoint-record.ts";
import type { RecentPercentiles } from "./percentiles.ts";
import { toPricePerToken, parsePrice } from "../price/price.ts";

type ModelEntry = MessageInitShape<typeof ModelSchema>;
type EndpointEntry = MessageInitShape<typeof EndpointSchema>;
type ProviderEntry = MessageInitShape<typeof ProviderSchema>;

/** Models in the order of the configuration. @param permissions permissions of the key that reads the list; undefined for all models */
export const listModels = (catalog: Catalog, permissions?: Permissions): ModelEntry[] =>
  catalog.models.flatMap((model) => {
    const permitted = permittedPart(model, permissions);
    return permitted ? modelEntry(permitted, catalog) : [];
  });

/** The model with only the endpoints the key may use. @returns undefined when none is left */
function permittedPart(model: CatalogModel, permissions: Permissions | undefined): CatalogModel | undefined {
  if (permissions === undefined) return model;
  const { settings, endpoints } = model;
  const permitted = endpoints.map((endpoint) => isPermitted(permissions, endpoint));
  if (permitted.every(Boolean)) return model;
  if (!permitted.some(Boolean)) return undefined;
  const isLeft = (_: unknown, index: number) => permitted[index] === true;
  return {
    settings: { ...settings, endpoints: settings.endpoints.filter(isLeft) },
    endpoints: endpoints.filter(isLeft),
  };
}

/** Endpoints of the model with this slug, whatever its variant. @returns undefined for a slug that is unknown or that the key may not use */
export function listEndpoints(
  catalog: Catalog,
  records: EndpointRecords,
  slug: string,
  permissions?: Permissions,
): { model: ModelEntry; endpoints: EndpointEntry[] } | undefined {
  const found = catalog.find(slug)?.model;
  const model = found && permittedPart(found, permissions);
  return (
    model && {
      model: modelEntry(model, catalog),
      endpoints: model.endpoints.map((endpoint, index) =>
        endpointEntry(endpoint, model.settings.endpoints[index] as EndpointSettings, catalog, records),
      ),
    }
  );
}

/** Providers in the order of the configuration; for a key with permissions, only those that may serve it. */
export function listProviders(catalog: Catalog, records: EndpointRecords, permissions?: Permissions): ProviderEntry[] {
  const models = catalog.models.flatMap((model) => permittedPart(model, permissions) ?? []);
  return [...catalog.providers.values()].flatMap((provider) => {
    const serving = models.filter(({ endpoints }) => endpoints.some(({ provider: id }) => id === provider.id));
    if (permissions && serving.length === 0) return [];
    const endpoints = serving.flatMap((model) => model.endpoints.filter(({ provider: id }) => id === provider.id));
    return {
      id: provider.id,
      name: provider.name ?? provider.id,
      region: provider.region,
      retention: provider.data_policy?.retention ?? "unknown",
      ...(provider.data_policy?.training !== undefined && { training: provider.data_policy.training }),
      tiers: distinct(endpoints.map(({ tier }) => tier)),
      models: serving.length,
      status: providerStatus(endpoints, records),
      ...publicFacts(provider),
    };
  });
}

const publicFacts = (provider: ProviderSettings): ProviderEntry => ({
  ...(provider.headquarters !== undefined && { headquarters: provider.headquarters }),
  ...(provider.privacy_policy_url !== undefined && { privacyPolicyUrl: provider.privacy_policy_url }),
  ...(provider.terms_of_service_url !== undefined && { termsOfServiceUrl: provider.terms_of_service_url }),
  ...(provider.status_page_url !== undefined && { statusPageUrl: provider.status_page_url }),
});

/** Status of a provider by those of its endpoints called in the last half hour; empty when none was. */
function providerStatus(endpoints: readonly Endpoint[], records: EndpointRecords): string {
  const now = records.now();
  const requested = endpoints
    .flatMap((endpoint) => records.find(endpoint)?.ejection ?? [])
    .filter(({ uptime }) => uptime.percent("halfHour", now) !== undefined);
  if (requested.length === 0) return "";
  const failing = requested.filter((ejection) => isFailing(ejection, now)).length;
  if (failing === 0) return "operational";
  return failing === requested.length ? "outage" : "degraded";
}

/** Whether an endpoint fails. It also does with too few failures for an ejection if it gave no answer. */
const isFailing = (ejection: Ejection, now: number): boolean =>
  ejection.state(now) !== "in use" || (ejection.failing && ejection.uptime.percent("halfHour", now) === 0);

function modelEntry({ settings, endpoints }: CatalogModel, { providers }: Catalog): ModelEntry {
  const pricing = cheapestPricing(settings.endpoints);
  return {
    id: settings.id,
    name: settings.name ?? settings.id,
    created: BigInt(settings.released === undefined ? 0 : Date.parse(settings.released) / 1_000),
    description: settings.description ?? "",
    tokenizer: settings.tokenizer,
    contextLength: settings.context_length,
    ...(settings.max_output_tokens !== undefined && { maxOutputTokens: settings.max_output_tokens }),
    inputModalities: [...settings.input_modalities],
    outputModalities: [...settings.output_modalities],
    supportedParameters: distinct(endpoints.flatMap(({ supportedParameters }) => supportedParameters ?? [])),
    parametersUnknown: settings.endpoints.some((endpoint) => endpoint.supported_parameters === undefined),
    promptPrice: pricing ? toPricePerToken(pricing.prompt) : "",
    completionPrice: pricing ? toPricePerToken(pricing.completion) : "",
    ...(pricing && { pricing: pricingEntry(pricing) }),
    providers: distinct(endpoints.map(({ provider }) => provider)),
    regions: distinct(endpoints.flatMap(({ provider }) => providers.get(provider)?.region ?? [])),
    zeroRetention: endpoints.some(({ keepsNothing }) => keepsNothing),
    distillable: endpoints.some(({ distillable }) => distillable),
  };
}

function endpointEntry(
  endpoint: Endpoint,
  settings: EndpointSettings,
  { providers }: Catalog,
  records: EndpointRecords,
): EndpointEntry {
  const provider = providers.get(endpoint.provider);
  const record = records.find(endpoint);
  const now = records.now();
  const latencyMs = record && measured(record.latency, now, 1_000);
  const throughput = record && measured(record.throughput, now, 1);
  const uptime = record?.ejection.uptime;
  const uptime5m = uptime?.percent("fiveMinutes", now);
  const uptime30m = uptime?.percent("halfHour", now);
  const uptime1d = uptime?.percent("day", now);
  return {
    provider: endpoint.provider,
    providerName: endpoint.providerName,
    tag: endpointTag(endpoint),
    tier: endpoint.tier,
    quantization: endpoint.quantization,
    ...(settings.pricing && { pricing: pricingEntry(settings.pricing) }),
    supportedParameters: [...(endpoint.supportedParameters ?? [])],
    parametersUnknown: settings.supported_parameters === undefined,
    distillable: endpoint.distillable,
    keepsNothing: endpoint.keepsNothing,
    region: provider?.region ?? "",
    cachesByItself: settings.pricing?.cache_read !== undefined && !dialectTraits(provider?.dialect ?? "").cacheMarks,
    inOutage: record !== undefined && record.ejection.state(now) !== "in use",
    ...(uptime5m !== undefined && { uptime5m }),
    ...(uptime30m !== undefined && { uptime30m }),
    ...(uptime1d !== undefined && { uptime1d }),
    ...(latencyMs && { latencyMs }),
    ...(throughput && { throughput }),
  };
}

/** Name of an endpoint in provider preferences, which is unambiguous for most endpoints. */
function endpointTag({ provider, tier, quantization }: Endpoint): string {
  if (tier !== "default") return `${provider}/${tier}`;
  return quantization === "unknown" ? provider : `${provider}/${quantization}`;
}

function measured(
  percentiles: RecentPercentiles,
  now: number,
  factor: number,
): MessageInitShape<typeof MeasuredSchema> | undefined {
  const at = (share: number) => (percentiles.atInHalfHour(share, now) ?? Number.NaN) * factor;
  const p50 = at(0.5);
  return Number.isNaN(p50) ? undefined : { p50, p75: at(0.75), p90: at(0.9), p99: at(0.99) };
}

type Pricing = NonNullable<EndpointSettings["pricing"]>;

const pricingEntry = (pricing: Pricing): MessageInitShape<typeof PricingSchema> => ({
  ...rateEntry(pricing),
  ...(pricing.request !== undefined && { request: pricing.request }),
  ...(pricing.image !== undefined && { image: pricing.image }),
  ...(pricing.image_output !== undefined && { imageOutput: pricing.image_output }),
  ...(pricing.page !== undefined && { page: pricing.page }),
  ...(pricing.audio !== undefined && { audio: pricing.audio }),
  ...(pricing.web_search !== undefined && { webSearch: pricing.web_search }),
  above: (pricing.above ?? [])
    .toSorted((a, b) => a.input_tokens - b.input_tokens)
    .map((step) => ({ inputTokens: step.input_tokens, ...rateEntry(step) })),
});

const rateEntry = (rates: Omit<Pricing, "above">) => ({
  prompt: toPricePerToken(rates.prompt),
  completion: toPricePerToken(rates.completion),
  ...(rates.cache_read !== undefined && { cacheRead: toPricePerToken(rates.cache_read) }),
  ...(rates.cache_write !== undefined && { cacheWrite: toPricePerToken(rates.cache_write) }),
  ...(rates.cache_write_1h !== undefined && { cacheWrite1h: toPricePerToken(rates.cache_write_1h) }),
});

/**
 * The cheapest prices by prompt, then by completion. All of them belong to one endpoint, so the combination is a real
 * offer. Tiers other than the default count only when there is no default tier.
 */
export function cheapestPricing(endpoints: readonly EndpointSettings[]): Pricing | undefined {
  const priced = endpoints.filter(({ pricing }) => pricing);
  const defaultTier = priced.filter(({ tier }) => tier === "default");
  const pricings = (defaultTier.length > 0 ? defaultTier : priced).flatMap(({ pricing }) => pricing ?? []);
  return pricings.sort(
    (a, b) =>
      Number(parsePrice(a.prompt) - parsePrice(b.prompt)) ||
      Number(parsePrice(a.completion) - parsePrice(b.completion)),
  )[0];
}

const distinct = <Value>(values: readonly Value[]): Value[] => [...new Set(values)];
