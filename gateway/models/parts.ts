/** What the lists have in common: how they are asked for, and members that models and endpoints share. */
import type { Client } from "@grpc/grpc-js";
import type { Pricing } from "@sluice/proto/gen/sluice/inference/v1/catalogue_pb.js";
import type { Model } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";

export const timeoutMs = 2_000;

export interface ListParts {
  /** To any inference process: all of them hold the same catalogue. */
  readonly inference: Client;
  readonly token: string;
}

/** Without a price that anybody knows both figures are -1, as in other lists of this form. */
export function pricingJson(pricing: Pricing | undefined): Record<string, string> {
  const { prompt = "-1", completion = "-1", cacheRead, cacheWrite, request, image, audio } = pricing ?? {};
  return {
    prompt,
    completion,
    ...(cacheRead !== undefined && { input_cache_read: cacheRead }),
    ...(cacheWrite !== undefined && { input_cache_write: cacheWrite }),
    ...(request !== undefined && { request }),
    ...(image !== undefined && { image }),
    ...(audio !== undefined && { audio }),
  };
}

export const architectureJson = ({ inputModalities, outputModalities, tokenizer }: Model): Record<string, unknown> => ({
  input_modalities: inputModalities,
  output_modalities: outputModalities,
  modality: `${inputModalities.join("+")}->${outputModalities.join("+")}`,
  tokenizer,
  instruct_type: null,
});

/** Who made a model: its slug up to the slash. */
export const authorOf = (id: string): string => id.split("/")[0] ?? id;
