/**
 * Answers GET /models, GET /models/count and GET /models/{author}/{slug}: the catalogue, readable by clients of the Responses format and of the
 * public model lists.
 */
import { basePath } from "@sluice/proto/contract/operations/operation.js";
import { InferenceService, type Model } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { type ModelParameters, findModel } from "./endpoints.ts";
import { type ModelQuery, selectModels } from "./filters.ts";
import { toPublicParameters } from "./parameters.ts";
import { type CatalogueCall, architectureJson, toAuthor, callCatalogue, pricingJson } from "./parts.ts";

type ListCall = CatalogueCall & { readonly query: ModelQuery };

export async function listModels(call: ListCall): Promise<object> {
  const selected = selectModels(await allModels(call), call.query);
  const { offset = 0, limit = selected.length } = call.query;
  const end = offset + limit;
  const page = selected.slice(offset, end);
  return {
    object: "list",
    data: page.map(modelJson),
    // Clients of Anthropic's format read has_more, first_id and last_id.
    has_more: end < selected.length,
    first_id: page.at(0)?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
    total_count: selected.length,
    links: { next: end < selected.length ? nextPath(call.query, end) : null },
  };
}

export async function countModels(call: ListCall): Promise<object> {
  return { data: { count: selectModels(await allModels(call), call.query).length } };
}

export async function getModel(call: CatalogueCall & { readonly parameters: ModelParameters }): Promise<object> {
  const { model } = await findModel(call, call.parameters);
  return modelJson(model);
}

const allModels = async (call: CatalogueCall): Promise<readonly Model[]> =>
  (await callCatalogue(call, InferenceService.method.listModels, {})).models;

function nextPath(query: ModelQuery, offset: number): string {
  const parameters = Object.entries({ ...query, offset }).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  return `${basePath}/models?${new URLSearchParams(parameters).toString()}`;
}

function modelJson(model: Model): Record<string, unknown> {
  const maxCompletionTokens = model.maxOutputTokens ?? null;
  return {
    id: model.id,
    object: "model",
    // Clients of Anthropic's format read type, display_name and created_at.
    type: "model",
    display_name: model.name,
    created_at: new Date(Number(model.created) * 1_000).toISOString(),
    canonical_slug: model.id,
    name: model.name,
    created: Number(model.created),
    owned_by: toAuthor(model.id),
    description: model.description,
    context_length: model.contextLength,
    architecture: architectureJson(model),
    pricing: pricingJson(model.pricing),
    top_provider: {
      context_length: model.contextLength,
      max_completion_tokens: maxCompletionTokens,
      is_moderated: false,
    },
    per_request_limits: null,
    supported_parameters: toPublicParameters(model.supportedParameters, model.parametersUnknown),
    default_parameters: null,
    supported_voices: null,
    links: { details: `${basePath}/models/${pathOf(model.id)}/endpoints` },
  };
}

/** The path of a model. The first slash of its slug separates two segments; further slashes belong to the second segment and are percent-encoded. */
function pathOf(id: string): string {
  const [author = "", ...rest] = id.split("/");
  return rest.length === 0 ? author : `${author}/${encodeURIComponent(rest.join("/"))}`;
}
