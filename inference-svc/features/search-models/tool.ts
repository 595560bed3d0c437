/** service:search_models: lets the model search the catalogue by words and capabilities, among the models the key may use. */
import { array, described, integer, object, string, word } from "@sluice/proto/lib/validation/shape.js";
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import type { CatalogModel } from "../../models/routing/catalog.ts";
import { cheapestPricing } from "../../models/routing/records/listing.ts";
import { callerFilters } from "../../models/routing/choose/permitted-endpoints.ts";
import type { InputItem } from "../../turn/request.ts";
import type { Scope } from "../../turn/scope.ts";
import { type Fields, Index } from "../../content/ranking.ts";
import {
  type RestoredCall,
  type ServerTool,
  errorOutput,
  resultNotStored,
  repeatedSearches,
} from "../../agent-loop/tool.ts";

/** Default number of results, as documented in the API. */
const standardResults = 5;
const maxQueryLength = 200;

const modalities = array(word("text", "image", "file", "audio", "video"));

const args = object(
  {
    query: described(string({ max: maxQueryLength }), "Words from names or descriptions; all models when absent."),
    input_modalities: described(modalities, "Everything that the model must take."),
    output_modalities: described(modalities, "Everything that the model must give."),
    min_context_length: described(integer({ min: 1 }), "Tokens that must fit into its window."),
    series: described(string({ min: 1, max: maxQueryLength }), "Family of models, such as gpt or claude."),
  },
  { strict: true },
);

interface Wanted {
  readonly query?: string;
  readonly input_modalities?: readonly string[];
  readonly output_modalities?: readonly string[];
  readonly min_context_length?: number;
  readonly series?: string;
}

/** @param models models of the catalogue */
export const searchModels = (models: readonly CatalogModel[]): ServerTool => ({
  kinds: ["service:search_models"],
  hasEffect: false,
  open({ parameters, scope }) {
    const most = Number(parameters["max_results"] ?? standardResults);
    const found = (wanted: Wanted): string => {
      const all = search(allowed(models, scope), wanted);
      const shown = all.slice(0, most).map(shownOf);
      return JSON.stringify({ total_results: all.length, showing: shown.length, models: shown });
    };
    const again = repeatedSearches((json) => found(JSON.parse(json) as Wanted));
    return {
      description:
        "Searches the models that this service offers, with their windows, modalities and prices in USD per million tokens. " +
        "Call it for questions about available models; do not answer those from memory.",
      arguments: args,
      async run(wanted: JsonObject & Wanted) {
        const { query } = wanted;
        return {
          output: found(wanted),
          item: { ...(query !== undefined && { query }), arguments: JSON.stringify(wanted) },
        };
      },
      recall: (item) => recall(item, again),
    };
  },
});

/** Repeats the search of an earlier response, since items do not contain results. @param search runs a search with the arguments as JSON */
function recall({ arguments: json, error }: InputItem, search: (json: string) => string | undefined): RestoredCall {
  const said = argumentsOf(json);
  if (typeof error === "string") return { args: said, output: errorOutput(error) };
  return { args: said, output: search(JSON.stringify(said)) ?? resultNotStored };
}

/** Arguments in an item a client sent back; empty when they cannot be the model's. */
function argumentsOf(json: unknown): JsonObject {
  try {
    const parsed: unknown = JSON.parse(String(json));
    throwProblems((problems) => args.check(parsed, "", problems));
    return parsed as JsonObject;
  } catch {
    return {};
  }
}

function allowed(models: readonly CatalogModel[], scope: Scope): readonly CatalogModel[] {
  const filters = callerFilters(scope);
  return models.filter(({ settings, endpoints }) =>
    endpoints.some((endpoint) => filters.every((filter) => filter.admits(endpoint, settings))),
  );
}

function search(models: readonly CatalogModel[], wanted: Wanted): readonly CatalogModel[] {
  const { input_modalities: input = [], output_modalities: output = [], min_context_length: window = 0 } = wanted;
  const series = wanted.series?.toLowerCase() ?? "";
  const able = models.filter(
    ({ settings }) =>
      input.every((modality) => settings.input_modalities.includes(modality as never)) &&
      output.every((modality) => settings.output_modalities.includes(modality as never)) &&
      settings.context_length >= window &&
      [settings.id, settings.name ?? "", settings.tokenizer].some((text) => text.toLowerCase().includes(series)),
  );
  const query = wanted.query?.trim() ?? "";
  if (query === "") return able;
  return new Index(able.map(fieldsOf)).ranked(query).map((index) => able[index] as CatalogModel);
}

const fieldsOf = ({ settings }: CatalogModel): Fields => [
  [settings.id, 3],
  [settings.name ?? "", 3],
  [settings.description ?? "", 1],
];

function shownOf({ settings, endpoints }: CatalogModel): object {
  const { id, name, description, context_length, max_output_tokens, input_modalities, output_modalities } = settings;
  const pricing = cheapestPricing(settings.endpoints);
  return {
    id,
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    context_length,
    ...(max_output_tokens !== undefined && { max_output_tokens }),
    input_modalities,
    output_modalities,
    ...(pricing && { pricing: { prompt: pricing.prompt, completion: pricing.completion } }),
    providers: [...new Set(endpoints.map(({ providerName }) => providerName))],
  };
}
