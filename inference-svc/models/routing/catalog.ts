/** The models available to requests and the endpoints that serve them: the configuration in the form used by the router. */
import type {
  EndpointSettings,
  ConfigFile,
  ModelSettings,
  ProviderSettings,
} from "@sluice/proto/config/config-file.js";
import { type Prices, parsePrices } from "./price/price.ts";
import { ModelNames } from "./model-names.ts";
import { type Seed, endpointSeed } from "./choose/rendezvous.ts";
import { type Tariff, parseTariff } from "./price/tariff.ts";

export interface Endpoint {
  readonly model: string;
  readonly provider: string;
  /** Display name of the provider. */
  readonly providerName: string;
  readonly upstreamModel: string;
  readonly tier: EndpointSettings["tier"];
  /** Parameters the model knows; absent when the operator lists none, and every parameter is sent. */
  readonly supportedParameters?: readonly string[];
  /** Context window in tokens, input and output together. */
  readonly contextLength: number;
  /** Maximum output tokens of the model; absent when the operator states none. */
  readonly maxOutputTokens?: number;
  /** Whether the model gives vectors instead of answers. */
  readonly embeds: boolean;
  /** Whether the model accepts files as input. */
  readonly takesFiles: boolean;
  readonly quantization: string;
  /** Whether the provider is declared to retain no data. */
  readonly keepsNothing: boolean;
  /** Whether the provider is declared not to train on the data it receives. */
  readonly trainsNot: boolean;
  /** Whether the provider is declared not to publish the data it receives. */
  readonly publishesNot: boolean;
  /** Region of the provider, as written in the configuration file. */
  readonly region: string;
  /** Whether the model's author is declared to allow training of other models on its output. */
  readonly distillable: boolean;
  /** Prices by which endpoints are compared; absent when the operator states none. */
  readonly prices?: Prices;
  /** Tariffs by the service tier of the answer: this endpoint's own tariff, and those for other tiers of the same model at the same provider. */
  readonly tariffs: ReadonlyMap<string, Tariff>;
  /** Names of the endpoint in provider preferences: `provider/tier`, and `provider/quantization` where it is known. */
  readonly fullSlugs: readonly string[];
  /**
   * Share of the load among the endpoints of the model, by the configured weight or else by price; absent for an
   * endpoint that is only a fallback.
   */
  readonly loadWeight?: number;
  /** Priority of the endpoint; endpoints with the lowest number are tried first. */
  readonly priority: number;
  /** Seed of the endpoint's random draws for sessions, equal in every process and independent of what else is configured. */
  readonly seed: Seed;
}

/** Name of an endpoint, which is equal in every process and after a reload. */
export const endpointName = ({ model, seed }: Endpoint): string => `${model} ${seed.high} ${seed.low}`;

export interface CatalogModel {
  readonly settings: ModelSettings;
  /** Endpoints of the model in the order of the configuration. */
  readonly endpoints: readonly Endpoint[];
}

/**
 * Variants of a model's slug. `nitro` puts the fastest endpoints first and adds those of the priority tier; `floor`
 * puts the cheapest first and adds those of the flex tier; `exacto` puts endpoints first by the share of their tool
 * calls with valid arguments.
 */
export type Variant = "nitro" | "floor" | "exacto";

/** The model a slug names, and the variant in the slug. */
export interface FoundModel {
  readonly model: CatalogModel;
  readonly variant?: Variant;
}

export class Catalog {
  readonly #models: ReadonlyMap<string, CatalogModel>;
  /** Other names of the models that hold for every workspace. */
  readonly names: ModelNames;
  /** Names of the models for workspaces with aliases of their own, by workspace id. */
  readonly #workspaceNames: ReadonlyMap<string, ModelNames>;

  /** Providers by id, in the order of the configuration. */
  readonly providers: ReadonlyMap<string, ProviderSettings>;

  constructor(file: Pick<ConfigFile, "providers" | "models"> & Partial<Pick<ConfigFile, "model_aliases">>) {
    const providers = new Map(file.providers.map((provider) => [provider.id, provider]));
    this.providers = providers;
    this.#models = new Map(
      file.models.map((model) => [model.id, { settings: model, endpoints: buildEndpoints(model, providers) }]),
    );
    const vendorNames = this.models.flatMap(({ settings, endpoints }) =>
      endpoints.map(({ upstreamModel }) => [upstreamModel, settings.id] as const),
    );
    const aliases = file.model_aliases ?? [];
    const namesFor = (workspace: string | undefined) =>
      new ModelNames(
        [...this.#models.keys()],
        aliases.filter((alias) => alias.workspace === undefined || alias.workspace === workspace),
        vendorNames,
      );
    const workspaces = new Set(aliases.flatMap(({ workspace }) => workspace ?? []));
    this.names = namesFor(undefined);
    this.#workspaceNames = new Map([...workspaces].map((id) => [id, namesFor(id)]));
  }

  /** The model names that keys of a workspace can use. */
  namesOf(workspaceId: string): ModelNames {
    return this.#workspaceNames.get(workspaceId) ?? this.names;
  }

  /** Finds the model with a slug or another name. Slugs of the catalogue match as a whole; any other name may end with a variant. */
  find(name: string): FoundModel | undefined {
    const slug = this.names.resolve(name) ?? name;
    const model = this.#models.get(slug);
    if (model) return { model };
    const [, base = "", variant] = /^(.+):(nitro|floor|exacto)$/.exec(slug) ?? [];
    const based = this.#models.get(base);
    return based && { model: based, variant: variant as Variant };
  }

  /** All models in the order of the configuration. */
  get models(): readonly CatalogModel[] {
    return [...this.#models.values()];
  }
}

/** Whether a model gives vectors instead of answers. */
export const isEmbeddingModel = ({
  output_modalities: modalities,
}: Pick<ModelSettings, "output_modalities">): boolean => modalities.includes("embeddings");

function buildEndpoints(model: ModelSettings, providers: ReadonlyMap<string, ProviderSettings>): readonly Endpoint[] {
  const drawn = new Map<string, number>();
  const isWeighted = model.endpoints.some(({ weight }) => weight !== undefined);
  return model.endpoints.map((endpoint) => {
    const { provider: id, tier, quantization, distillable } = endpoint;
    const provider = providers.get(id);
    const upstreamModel = endpoint.upstream_model ?? model.id;
    const name = [id, upstreamModel, tier, quantization].join("\0");
    // Endpoints that are equal in all of these values get different seeds nevertheless.
    const again = drawn.get(name) ?? 0;
    drawn.set(name, again + 1);
    const prices = endpoint.pricing && parsePrices(endpoint.pricing);
    const loadWeight = isWeighted ? endpoint.weight || undefined : prices?.weight;
    return {
      model: model.id,
      contextLength: model.context_length,
      embeds: isEmbeddingModel(model),
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
      seed: endpointSeed(again === 0 ? name : `${name}\0${again}`),
      ...(endpoint.supported_parameters && {
        supportedParameters: [...endpoint.supported_parameters, ...(provider?.passes ?? [])],
      }),
      ...(model.max_output_tokens !== undefined && { maxOutputTokens: model.max_output_tokens }),
      priority: endpoint.priority,
      ...(prices && { prices }),
      ...(loadWeight !== undefined && { loadWeight }),
      tariffs: buildTariffs(endpoint, model.endpoints),
    };
  });
}

function buildTariffs(endpoint: EndpointSettings, all: readonly EndpointSettings[]): ReadonlyMap<string, Tariff> {
  const alike = all.filter(
    ({ provider, upstream_model }) => provider === endpoint.provider && upstream_model === endpoint.upstream_model,
  );
  // The endpoint's own tariff comes last, so it takes precedence.
  return new Map([...alike, endpoint].flatMap(({ tier, pricing }) => (pricing ? [[tier, parseTariff(pricing)]] : [])));
}
