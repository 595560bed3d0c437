/** What can be asked for, and who serves it: the configuration as the router reads it. */
import type { EndpointSettings, HouseFile, ModelSettings, ProviderSettings } from "@sluice/proto/runtime/house-file.js";
import { type Prices, pricesOf } from "./price.ts";
import { type Seed, seedOf } from "./rendezvous.ts";
import { type Tariff, tariffOf } from "./tariff.ts";

export interface Endpoint {
  /** Slug of the model. */
  readonly model: string;
  /** Id of the provider. */
  readonly provider: string;
  /** For people. */
  readonly providerName: string;
  readonly upstreamModel: string;
  readonly tier: EndpointSettings["tier"];
  /** Absent when the operator does not say: then everything is sent. */
  readonly supportedParameters?: readonly string[];
  /** Tokens of input and output together. */
  readonly contextLength: number;
  /** The model's largest answer, where the operator says. */
  readonly maxOutputTokens?: number;
  /** The model reads files itself. */
  readonly takesFiles: boolean;
  readonly quantization: string;
  /** The provider is declared to keep nothing. */
  readonly keepsNothing: boolean;
  /** The provider is declared not to train on what it is sent. */
  readonly trainsNot: boolean;
  /** The provider is declared not to publish what it is sent. */
  readonly publishesNot: boolean;
  /** Where the provider is, as the operator says. */
  readonly region: string;
  /** The author is declared to allow that other models learn from the output. */
  readonly distillable: boolean;
  /** Absent when the operator does not say. */
  readonly prices?: Prices;
  /** What is charged, by the tier that served; of this endpoint's tier, and of the others of the same model at the same provider. */
  readonly tariffs: ReadonlyMap<string, Tariff>;
  /** `provider/tier`, and `provider/quantization` where it is known. */
  readonly fullSlugs: readonly string[];
  /** By which it draws for sessions: the same in every process and whatever else is configured. */
  readonly seed: Seed;
}

export interface CatalogModel {
  readonly settings: ModelSettings;
  /** In the order of the configuration. */
  readonly endpoints: readonly Endpoint[];
}

/** nitro: the fastest first, priority endpoints among them. floor: the cheapest first, flex endpoints among them. */
export type Variant = "nitro" | "floor";

/** What a slug asks for. */
export interface Asked {
  readonly model: CatalogModel;
  readonly variant?: Variant;
}

export class Catalog {
  readonly #models: ReadonlyMap<string, CatalogModel>;

  /** By id, in the order of the configuration. */
  readonly providers: ReadonlyMap<string, ProviderSettings>;

  constructor(file: Pick<HouseFile, "providers" | "models">) {
    const providers = new Map(file.providers.map((provider) => [provider.id, provider]));
    this.providers = providers;
    this.#models = new Map(
      file.models.map((model) => [model.id, { settings: model, endpoints: endpointsOf(model, providers) }]),
    );
  }

  /** A slug that is in the catalogue is what it says; of others the end may be a variant. */
  find(slug: string): Asked | undefined {
    const model = this.#models.get(slug);
    if (model) return { model };
    const [, base = "", variant] = /^(.+):(nitro|floor)$/.exec(slug) ?? [];
    const based = this.#models.get(base);
    return based && { model: based, variant: variant as Variant };
  }

  /** In the order of the configuration. */
  get models(): readonly CatalogModel[] {
    return [...this.#models.values()];
  }
}

function endpointsOf(model: ModelSettings, providers: ReadonlyMap<string, ProviderSettings>): readonly Endpoint[] {
  const drawn = new Map<string, number>();
  return model.endpoints.map((endpoint) => {
    const { provider: id, tier, quantization, distillable } = endpoint;
    const provider = providers.get(id);
    const upstreamModel = endpoint.upstream_model ?? model.id;
    const name = [id, upstreamModel, tier, quantization].join("\0");
    // Those that nothing tells apart draw apart all the same.
    const again = drawn.get(name) ?? 0;
    drawn.set(name, again + 1);
    return {
      model: model.id,
      contextLength: model.context_length,
      takesFiles: model.input_modalities.includes("file"),
      provider: id,
      providerName: provider?.name ?? id,
      upstreamModel,
      tier,
      quantization,
      distillable,
      keepsNothing: provider?.data_policy?.retention === "none",
      trainsNot: provider?.data_policy?.training === false,
      publishesNot: provider?.data_policy?.publication === false,
      region: provider?.region ?? "global",
      fullSlugs: [`${id}/${tier}`, ...(quantization === "unknown" ? [] : [`${id}/${quantization}`])],
      seed: seedOf(again === 0 ? name : `${name}\0${again}`),
      ...(endpoint.supported_parameters && { supportedParameters: endpoint.supported_parameters }),
      ...(model.max_output_tokens !== undefined && { maxOutputTokens: model.max_output_tokens }),
      ...(endpoint.pricing && { prices: pricesOf(endpoint.pricing) }),
      tariffs: tariffsOf(endpoint, model.endpoints),
    };
  });
}

function tariffsOf(endpoint: EndpointSettings, all: readonly EndpointSettings[]): ReadonlyMap<string, Tariff> {
  const alike = all.filter(
    ({ provider, upstream_model }) => provider === endpoint.provider && upstream_model === endpoint.upstream_model,
  );
  // Its own comes last, and stays.
  return new Map([...alike, endpoint].flatMap(({ tier, pricing }) => (pricing ? [[tier, tariffOf(pricing)]] : [])));
}
