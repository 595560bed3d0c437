/** What a request demands of the model and of the endpoint; and what it merely wishes, which an endpoint that lacks it is not sent. */
import { isParsing } from "../files/parsed.ts";
import type { TurnRequest } from "../turn/request.ts";
import type { Loss } from "../turn/scope.ts";
import type { Endpoint } from "./catalog.ts";
import type { Filter } from "./filters.ts";

const inputKinds: Readonly<Record<string, string>> = {
  input_image: "image",
  input_file: "file",
  input_audio: "audio",
  input_video: "video",
  computer_screenshot: "image",
};

const fileAdvice = "; the plugin file-parser would tell it the text of a text file or PDF, unless pdf.engine is native";

const bringsTools: ReadonlySet<string> = new Set(["additional_tools", "tool_search_output"]);

export function modalityNeeds(request: TurnRequest): readonly Filter[] {
  const needs: Filter[] = [];
  for (const modality of request.outputModalities) {
    needs.push({
      reason: "modality",
      refusal: `gives no ${modality} output`,
      admits: (_, model) => has(model.output_modalities, modality),
    });
  }
  for (const [modality, path] of inputModalities(request)) {
    // Whether their text can go in their place is told of each endpoint.
    if (modality === "file" && isParsing(request)) continue;
    needs.push({
      reason: "modality",
      refusal: `takes no ${modality} input (${path})${modality === "file" ? fileAdvice : ""}`,
      admits: (_, model) => has(model.input_modalities, modality),
    });
  }
  return needs;
}

/** Only of the answer: how many tokens the input has is known to the provider alone, and its refusal moves on to the next model. */
export function lengthNeeds({ maxOutputTokens }: TurnRequest): readonly Filter[] {
  if (maxOutputTokens === undefined) return none;
  return [
    {
      reason: "context_length",
      refusal: `gives fewer than ${maxOutputTokens} tokens`,
      admits: (_, model) => maxOutputTokens <= (model.max_output_tokens ?? model.context_length),
    },
  ];
}

export function featureNeeds(request: TurnRequest): readonly Filter[] {
  const needs: Filter[] = [];
  if (request.tools.length > 0 || request.input.some(({ type }) => bringsTools.has(type)))
    needs.push(supporting("takes no tools", ["tools"]));
  if (request.textFormat?.type === "json_schema") {
    needs.push(supporting("gives no structured outputs", ["structured_outputs", "response_format"]));
  }
  return needs;
}

const none: readonly Filter[] = [];

const has = (list: readonly string[], value: string): boolean => list.includes(value);

const supporting = (refusal: string, anyOf: readonly string[]): Filter => ({
  reason: "require_parameters",
  refusal,
  admits: ({ supportedParameters }) =>
    supportedParameters === undefined || anyOf.some((name) => supportedParameters.includes(name)),
});

/** Kinds of input, each with the path of its first part. */
function inputModalities({ input }: TurnRequest): ReadonlyMap<string, string> {
  const kinds = new Map<string, string>();
  for (const [index, item] of input.entries()) {
    for (const field of ["content", "output"]) noteParts(kinds, item[field], index, field);
  }
  return kinds;
}

/** @param parts a list, or a screenshot that stands alone */
function noteParts(kinds: Map<string, string>, parts: unknown, index: number, field: string): void {
  if (typeof parts !== "object" || parts === null) return;
  const isList = Array.isArray(parts);
  for (const [place, part] of (isList ? parts : [parts]).entries()) {
    const kind = inputKinds[String((part as { type?: unknown } | null | undefined)?.type)];
    if (kind !== undefined && !kinds.has(kind)) kinds.set(kind, `input.${index}.${field}${isList ? `.${place}` : ""}`);
  }
}

/** By the name in supported_parameters, which is also the path in the request. */
const wishes: readonly (readonly [parameter: string, field: keyof TurnRequest])[] = [
  ["temperature", "temperature"],
  ["top_p", "topP"],
  ["top_k", "topK"],
  ["frequency_penalty", "frequencyPenalty"],
  ["presence_penalty", "presencePenalty"],
  ["top_logprobs", "topLogprobs"],
  ["reasoning", "reasoning"],
];

/**
 * Without the settings that the endpoint is declared not to know: it would answer 400 to them.
 * @param losses gets what is left out
 */
export function fitted(request: TurnRequest, endpoint: Endpoint, losses: Loss[]): TurnRequest {
  const { supportedParameters } = endpoint;
  if (supportedParameters === undefined) return request;
  const lacking = wishes.filter(
    ([parameter, field]) => request[field] !== undefined && !has(supportedParameters, parameter),
  );
  if (lacking.length === 0) return request;
  for (const [path] of lacking) losses.push({ path, reason: "the endpoint does not support it" });
  const fields = new Set<string>(lacking.map(([, field]) => field));
  return Object.fromEntries(Object.entries(request).filter(([field]) => !fields.has(field))) as unknown as TurnRequest;
}
