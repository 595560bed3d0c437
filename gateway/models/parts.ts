/** What the lists have in common: how they are asked for, and members that models and endpoints share. */
import type { ServiceToken } from "@sluice/proto/runtime/rpc/service-token.js";
import type { Client } from "@grpc/grpc-js";
import type { Pricing, PricingStep } from "@sluice/proto/gen/sluice/inference/v1/catalogue_pb.js";
import type { TraceHeaders } from "@sluice/proto/runtime/tracing/context.js";
import type { Model } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";

export const timeoutMs = 2_000;

export interface ListParts {
  /** To any inference process: all of them hold the same catalogue. */
  readonly inference: Client;
  readonly token: ServiceToken;
}

export interface ListCaller {
  readonly requestId: string;
  readonly trace: TraceHeaders;
}

/** Without a price that anybody knows both figures are -1, as in other lists of this form. */
export function pricingJson(pricing: Pricing | undefined): Record<string, unknown> {
  if (pricing === undefined) return { prompt: "-1", completion: "-1" };
  const { request, image, imageOutput, audio, webSearch, above } = pricing;
  return {
    ...ratesJson(pricing),
    ...(request !== undefined && { request }),
    ...(image !== undefined && { image }),
    ...(imageOutput !== undefined && { image_output: imageOutput }),
    ...(audio !== undefined && { audio }),
    ...(webSearch !== undefined && { web_search: webSearch }),
    ...(above.length > 0 && { overrides: above.map((step) => overrideJson(step, pricing)) }),
  };
}

const ratesJson = ({ prompt, completion, cacheRead, cacheWrite, cacheWrite1h }: Rates): Record<string, string> => ({
  prompt,
  completion,
  ...(cacheRead !== undefined && { input_cache_read: cacheRead }),
  ...(cacheWrite !== undefined && { input_cache_write: cacheWrite }),
  ...(cacheWrite1h !== undefined && { input_cache_write_1h: cacheWrite1h }),
});

interface Rates {
  readonly prompt: string;
  readonly completion: string;
  readonly cacheRead?: string | undefined;
  readonly cacheWrite?: string | undefined;
  readonly cacheWrite1h?: string | undefined;
}

/** A cache that a step does not price costs as its prompt does; in lists what is absent would be taken from the price below. */
function overrideJson({ inputTokens, ...step }: PricingStep, base: Rates): Record<string, unknown> {
  const { prompt, cacheRead = base.cacheRead && prompt, cacheWrite = base.cacheWrite && prompt } = step;
  const cacheWrite1h = step.cacheWrite1h ?? (base.cacheWrite1h && cacheWrite);
  return { min_prompt_tokens: inputTokens, ...ratesJson({ ...step, cacheRead, cacheWrite, cacheWrite1h }) };
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
