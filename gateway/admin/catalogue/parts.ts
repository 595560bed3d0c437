/** Calls to the catalogue of inference-svc, and the JSON members shared by models and endpoints. */
import {
  type DescMessage,
  type DescMethodUnary,
  type MessageInitShape,
  type MessageShape,
  create,
} from "@bufbuild/protobuf";
import type { Pricing, PricingStep } from "@sluice/proto/gen/sluice/inference/v1/catalogue_pb.js";
import type { Model } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { call as callService, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { OperationCall } from "../../edge/http/context.ts";

/** The members of a call used by catalogue handlers. */
export type CatalogueCall = Pick<OperationCall, "parts" | "caller">;

const listTimeoutMs = 2_000;

/** Calls any inference process: all have the same catalogue. @throws Fault */
export function callCatalogue<Input extends DescMessage, Output extends DescMessage>(
  { parts: { inference, token }, caller }: CatalogueCall,
  method: DescMethodUnary<Input, Output>,
  request: MessageInitShape<Input>,
): Promise<MessageShape<Output>> {
  return callService(inference, method, create(method.input, request), serviceMetadata(token, caller), listTimeoutMs);
}

/** The prices of a model or endpoint. For an unknown price, prompt and completion are "-1", as in other public lists of this form. */
export function pricingJson(pricing: Pricing | undefined): Record<string, unknown> {
  if (pricing === undefined) return { prompt: "-1", completion: "-1" };
  const { request, image, imageOutput, page, audio, webSearch, above } = pricing;
  return {
    ...ratesJson(pricing),
    ...(request !== undefined && { request }),
    ...(image !== undefined && { image }),
    ...(imageOutput !== undefined && { image_output: imageOutput }),
    ...(page !== undefined && { page }),
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

/**
 * Prices of a request beyond a number of input tokens. Clients replace a missing price of a step by the price below the step; a step without a cache
 * price therefore gets its own prompt price as its cache price.
 */
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

/** The author of a model: its slug up to the first slash. */
export const toAuthor = (id: string): string => id.split("/")[0] ?? id;
