/** GET /api/v1/models: the catalogue, readable by the clients of both the Responses format and the public model lists. */
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { InferenceService, type Model } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";

const timeoutMs = 2_000;

/** @param client of any inference process: all of them hold the same catalogue */
export async function listModels(client: Client, token: string, requestId: string): Promise<unknown> {
  const method = InferenceService.method.listModels;
  const { models } = await call(client, method, create(method.input), serviceMetadata(token, { requestId }), timeoutMs);
  return { object: "list", data: models.map(modelJson) };
}

function modelJson(model: Model): Record<string, unknown> {
  return {
    id: model.id,
    object: "model",
    canonical_slug: model.id,
    name: model.name,
    created: 0,
    owned_by: model.id.split("/")[0],
    context_length: model.contextLength,
    architecture: {
      input_modalities: model.inputModalities,
      output_modalities: model.outputModalities,
      modality: `${model.inputModalities.join("+")}->${model.outputModalities.join("+")}`,
      tokenizer: "Other",
      instruct_type: null,
    },
    pricing: { prompt: model.promptPrice || null, completion: model.completionPrice || null },
    top_provider: {
      context_length: model.contextLength,
      max_completion_tokens: model.maxOutputTokens ?? null,
      is_moderated: false,
    },
    per_request_limits: null,
    supported_parameters: model.supportedParameters,
  };
}
