/** GET /api/v1/models, one of them, and how many there are: the catalogue, readable by the clients of both the Responses format and the public model lists. */
import { create } from "@bufbuild/protobuf";
import { InferenceService, type Model } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { modelFilters, modelSelection } from "@sluice/proto/contract/model-filters.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import { type Query, readQuery, select } from "./filters.ts";
import { findModel } from "./endpoints.ts";
import { parametersOf } from "./parameters.ts";
import { type ListCaller, type ListParts, architectureJson, authorOf, pricingJson, timeoutMs } from "./parts.ts";
import { slugOf } from "./slug.ts";

/** @param url of the request */
export async function listModels(parts: ListParts, url: string, caller: ListCaller): Promise<unknown> {
  const query = readQuery(url, modelFilters);
  const selected = select(await allModels(parts, caller), query);
  const { offset = 0, limit = selected.length } = query;
  return {
    object: "list",
    data: selected.slice(offset, offset + limit).map(modelJson),
    total_count: selected.length,
    links: { next: offset + limit < selected.length ? nextPath(url, query, offset + limit) : null },
  };
}

/** @param url of the request */
export async function countModels(parts: ListParts, url: string, caller: ListCaller): Promise<unknown> {
  const query = readQuery(url, modelSelection);
  return { data: { count: select(await allModels(parts, caller), query).length } };
}

/** @param path of the request, undecoded */
export async function getModel(parts: ListParts, path: string, caller: ListCaller): Promise<unknown> {
  const { model } = await findModel(parts, slugOf(path), caller);
  return modelJson(model);
}

async function allModels({ inference, token }: ListParts, { requestId, trace }: ListCaller): Promise<readonly Model[]> {
  const method = InferenceService.method.listModels;
  const metadata = serviceMetadata(token, { requestId, trace });
  return (await call(inference, method, create(method.input), metadata, timeoutMs)).models;
}

function nextPath(url: string, { limit }: Query, offset: number): string {
  const query = new URLSearchParams(url.slice(url.indexOf("?") + 1));
  query.set("offset", String(offset));
  query.set("limit", String(limit));
  return `/api/v1/models?${query.toString()}`;
}

function modelJson(model: Model): Record<string, unknown> {
  const maxCompletionTokens = model.maxOutputTokens ?? null;
  return {
    id: model.id,
    object: "model",
    canonical_slug: model.id,
    name: model.name,
    created: Number(model.created),
    owned_by: authorOf(model.id),
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
    supported_parameters: parametersOf(model.supportedParameters, model.parametersUnknown),
    default_parameters: null,
    supported_voices: null,
    links: { details: `/api/v1/models/${pathOf(model.id)}/endpoints` },
  };
}

/** A slash after the first belongs to the second segment. */
function pathOf(id: string): string {
  const [author = "", ...rest] = id.split("/");
  return rest.length === 0 ? author : `${author}/${encodeURIComponent(rest.join("/"))}`;
}
