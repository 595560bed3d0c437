/** What can be asked for, and who serves it: the configuration as the router reads it. */
import type { EndpointSettings, HouseFile, ModelSettings } from "@sluice/proto/runtime/house-file.js";
import { perToken, units } from "./price.ts";

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
  /** The model's largest answer, where the operator says. */
  readonly maxOutputTokens?: number;
}

export interface CatalogModel {
  readonly settings: ModelSettings;
  /** In the order in which they are tried. */
  readonly endpoints: readonly Endpoint[];
}

/** One entry of ListModels, by the names of its contract. */
export interface ModelEntry {
  readonly id: string;
  readonly name: string;
  readonly contextLength: number;
  readonly maxOutputTokens?: number;
  readonly inputModalities: string[];
  readonly outputModalities: string[];
  readonly supportedParameters: string[];
  readonly promptPrice: string;
  readonly completionPrice: string;
}

export class Catalog {
  readonly #models: ReadonlyMap<string, CatalogModel>;

  constructor(file: HouseFile) {
    const names = new Map(file.providers.map((provider) => [provider.id, provider.name ?? provider.id]));
    this.#models = new Map(
      file.models.map((model) => [model.id, { settings: model, endpoints: endpointsOf(model, names) }]),
    );
  }

  find(slug: string): CatalogModel | undefined {
    return this.#models.get(slug);
  }

  /** In the order of the configuration. */
  listModels(): ModelEntry[] {
    return [...this.#models.values()].map(({ settings }) => entryOf(settings));
  }
}

const endpointsOf = (model: ModelSettings, names: ReadonlyMap<string, string>): readonly Endpoint[] =>
  model.endpoints.map((endpoint) => ({
    model: model.id,
    provider: endpoint.provider,
    providerName: names.get(endpoint.provider) ?? endpoint.provider,
    upstreamModel: endpoint.upstream_model ?? model.id,
    tier: endpoint.tier,
    ...(endpoint.supported_parameters && { supportedParameters: endpoint.supported_parameters }),
    ...(model.max_output_tokens !== undefined && { maxOutputTokens: model.max_output_tokens }),
  }));

function entryOf(model: ModelSettings): ModelEntry {
  const cheapest = cheapestPricing(model.endpoints);
  return {
    id: model.id,
    name: model.name ?? model.id,
    contextLength: model.context_length,
    ...(model.max_output_tokens !== undefined && { maxOutputTokens: model.max_output_tokens }),
    inputModalities: [...model.input_modalities],
    outputModalities: [...model.output_modalities],
    supportedParameters: [...new Set(model.endpoints.flatMap((endpoint) => endpoint.supported_parameters ?? []))],
    promptPrice: cheapest ? perToken(cheapest.prompt) : "",
    completionPrice: cheapest ? perToken(cheapest.completion) : "",
  };
}

/** By the price of the prompt, then of the completion: both figures are of one endpoint, so that somebody really offers them. */
function cheapestPricing(endpoints: readonly EndpointSettings[]): EndpointSettings["pricing"] {
  const priced = endpoints.flatMap(({ pricing }) => (pricing ? [pricing] : []));
  return priced.sort(
    (a, b) => Number(units(a.prompt) - units(b.prompt)) || Number(units(a.completion) - units(b.completion)),
  )[0];
}
