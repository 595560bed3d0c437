/** Filters by what a request needs from an endpoint. Optional parameters an endpoint lacks are left out of its request instead. */
import { parameterList } from "@sluice/proto/contract/request/parameters.js";
import { instructSchema } from "../../answer-instruction.ts";
import { hasParsedFiles } from "../../../content/files/parsing.ts";
import { hasUnknownItem } from "../../../turn/parse/beginnings.ts";
import { lastRequestedEffort } from "../../../turn/parse/effort.ts";
import type { TurnRequest } from "../../../turn/request.ts";
import type { DroppedField } from "../../../turn/trace.ts";
import type { Endpoint } from "../catalog.ts";
import type { Filter } from "./filter.ts";

const inputKinds: Readonly<Record<string, string>> = {
  input_image: "image",
  input_file: "file",
  input_audio: "audio",
  input_video: "video",
  computer_screenshot: "image",
};

const fileAdvice =
  "; its text can be sent instead unless the plugin file-parser is disabled or its pdf.engine is native";

const bringsTools: ReadonlySet<string> = new Set(["additional_tools", "tool_search_output"]);

export function modalityFilters(request: TurnRequest): readonly Filter[] {
  const needs: Filter[] = [];
  for (const modality of request.outputModalities) {
    needs.push({
      reason: "modality",
      refusal: `gives no ${modality} output`,
      admits: (_, model) => has(model.output_modalities, modality),
    });
  }
  for (const [modality, path] of inputModalities(request)) {
    // Whether an endpoint can get text in place of the files is checked later, for each endpoint.
    if (modality === "file" && hasParsedFiles(request)) continue;
    needs.push({
      reason: "modality",
      refusal: `takes no ${modality} input (${path})${modality === "file" ? fileAdvice : ""}`,
      admits: (_, model) => has(model.input_modalities, modality),
    });
  }
  return needs;
}

/**
 * Minimum answer length, in tokens, for choosing models. A model with a smaller maximum serves only if no other can,
 * with a lowered maximum. Clients of the Messages format request the maximum of the largest model from every model, so
 * for them the first model serves.
 */
export const neededAnswerTokens = ({ maxOutputTokens, door, provider }: TurnRequest): number | undefined =>
  door === "messages" && provider?.requireParameters !== true ? undefined : maxOutputTokens;

/**
 * Filters by the length of the answer only. The exact number of input tokens is known only to the provider; after its
 * refusal, the next model is tried.
 */
export function lengthFilters(request: TurnRequest): readonly Filter[] {
  const maxOutputTokens = neededAnswerTokens(request);
  if (maxOutputTokens === undefined) return none;
  return [
    {
      reason: "context_length",
      refusal: `gives fewer than ${maxOutputTokens} tokens`,
      admits: (_, model) => maxOutputTokens <= (model.max_output_tokens ?? model.context_length),
      ...yielding(request),
    },
  ];
}

export function featureFilters(request: TurnRequest): readonly Filter[] {
  const needs: Filter[] = [];
  if (request.tools.length > 0 || hasUnknownItem(request.input, ({ type }) => bringsTools.has(type)))
    needs.push(supporting("takes no tools", "tools"));
  if (request.textFormat?.type === "json_schema") {
    needs.push({ ...supporting("gives no structured outputs", structuredOutputs), ...yielding(request) });
  }
  // Vectors of the default length would be wrong for the client, so the parameter cannot be left out.
  if (request.embedding?.dimensions !== undefined) needs.push(supporting("takes no dimensions", "dimensions"));
  return needs;
}

/** Allows an endpoint that fails a filter to get a changed request, unless the client requires every parameter. */
const yielding = ({ provider }: TurnRequest): Pick<Filter, "yields"> =>
  provider?.requireParameters === true ? {} : { yields: true };

const structuredOutputs = "structured_outputs";

const none: readonly Filter[] = [];

const has = (list: readonly string[], value: string): boolean => list.includes(value);

const supporting = (refusal: string, parameter: string): Filter => ({
  reason: "require_parameters",
  refusal,
  admits: ({ supportedParameters }) => supportedParameters === undefined || has(supportedParameters, parameter),
});

/** Kinds of input in the request, each with the path of its first part. */
function inputModalities({ input }: TurnRequest): ReadonlyMap<string, string> {
  const kinds = new Map<string, string>();
  for (const [index, item] of input.entries()) {
    for (const field of ["content", "output"]) noteParts(kinds, item[field], index, field);
  }
  return kinds;
}

/** @param parts a list of parts, or a single screenshot */
function noteParts(kinds: Map<string, string>, parts: unknown, index: number, field: string): void {
  if (typeof parts !== "object" || parts === null) return;
  const isList = Array.isArray(parts);
  for (const [place, part] of (isList ? parts : [parts]).entries()) {
    const kind = inputKinds[String((part as { type?: unknown } | null | undefined)?.type)];
    if (kind !== undefined && !kinds.has(kind)) kinds.set(kind, `input.${index}.${field}${isList ? `.${place}` : ""}`);
  }
}

/** Optional parameters by their name in `supported_parameters`, which is also their path in the request, with their field. */
const optionalParameters: readonly (readonly [parameter: string, field: keyof TurnRequest])[] = [
  ...parameterList.flatMap(({ name, field, isUniversal }) => (isUniversal ? [] : ([[name, field]] as const))),
  ["reasoning", "reasoning"],
  ["prediction", "predictionJson"],
];

const inWords = "repaired: sent as an instruction for a JSON object, because the endpoint enforces no schema";

/**
 * Parameters to which OpenAI's models answer 400 while they reason
 * (https://developers.openai.com/api/docs/guides/latest-model?model=gpt-5.2).
 */
const samplers: ReadonlySet<string> = new Set(["temperature", "top_p", "top_logprobs"]);

/** Why an endpoint gets no sampling parameters. @returns undefined if it takes them */
function noSampler(request: TurnRequest, parameters: readonly string[]): string | undefined {
  if (!has(parameters, "samplers.without_reasoning")) return undefined;
  const effort = lastRequestedEffort(request);
  const rests = effort === undefined ? has(parameters, "reasoning.on_request") : effort === "none";
  return rests ? undefined : "the model does not take it while it reasons";
}

/**
 * Leaves out the settings the endpoint is declared not to support, because it would answer 400 to them. The schema of
 * an answer becomes an instruction.
 * @param losses gets the settings left out
 */
export function withoutUnsupported(asked: TurnRequest, endpoint: Endpoint, losses: DroppedField[]): TurnRequest {
  const { supportedParameters } = endpoint;
  if (supportedParameters === undefined) return asked;
  const { textFormat: format } = asked;
  const isInWords = format?.type === "json_schema" && !has(supportedParameters, structuredOutputs);
  const request = isInWords ? instructSchema(asked, format) : asked;
  if (isInWords) losses.push({ path: "text.format", reason: inWords });
  const present = optionalParameters.filter(([, field]) => request[field] !== undefined);
  if (present.length === 0) return request;
  const noSamplers = noSampler(request, supportedParameters);
  const lacking = present.flatMap(([parameter, field]) => {
    if (!has(supportedParameters, parameter)) return [{ parameter, field, reason: "the endpoint does not support it" }];
    return noSamplers !== undefined && samplers.has(parameter) ? [{ parameter, field, reason: noSamplers }] : [];
  });
  if (lacking.length === 0) return request;
  for (const { parameter, reason } of lacking) losses.push({ path: parameter, reason });
  const fields = new Set<string>(lacking.map(({ field }) => field));
  return Object.fromEntries(Object.entries(request).filter(([field]) => !fields.has(field))) as unknown as TurnRequest;
}
