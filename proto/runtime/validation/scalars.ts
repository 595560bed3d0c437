/** The limits of every scalar field of a turn, for both doors: JSON over HTTP and protobuf over gRPC. */
import type { RunTurnRequest } from "../../gen/sluice/inference/v1/turn_pb.ts";
import type { Problems } from "./problems.ts";
import { checkIdentifier, isLongerThan } from "./text.ts";

export const serviceTiers: ReadonlySet<string> = new Set([
  "auto",
  "default",
  "fast",
  "flex",
  "priority",
  "scale",
  "ultrafast",
]);
export const verbosities: ReadonlySet<string> = new Set(["low", "medium", "high", "xhigh", "max"]);
const modalities = new Set(["text", "image"]);
const includes = new Set([
  "file_search_call.results",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
  "reasoning.encrypted_content",
  "code_interpreter_call.outputs",
  "web_search_call.action.sources",
  "message.output_text.logprobs",
]);

const maxModels = 32;
const maxSlugLength = 256;
const maxPairs = 16;

/** Paths are those of the JSON form. */
export function checkScalars(request: RunTurnRequest, problems: Problems): void {
  checkModels(request, problems);
  checkNumbers(request, problems);
  checkIdentifiers(request, problems);
  checkMetadata(request.metadata, problems);
  if (request.serviceTier !== "") checkMember("service_tier", request.serviceTier, serviceTiers, problems);
  if (request.textVerbosity !== "") checkMember("text.verbosity", request.textVerbosity, verbosities, problems);
  checkMembers("include", request.include, includes, problems);
  checkMembers("modalities", request.modalities, modalities, problems);
}

function checkModels({ model, models }: RunTurnRequest, problems: Problems): void {
  if (model === "" && models.length === 0) problems.add("model", "model or models is required");
  if (model !== "") checkIdentifier("model", model, maxSlugLength, problems);
  if (models.length > maxModels) return problems.add("models", `at most ${maxModels} entries`);
  for (const [index, slug] of models.entries()) {
    if (slug === "") problems.add(`models.${index}`, "at least 1 character");
    checkIdentifier(`models.${index}`, slug, maxSlugLength, problems);
  }
}

function checkNumbers(request: RunTurnRequest, problems: Problems): void {
  checkRange("max_output_tokens", request.maxOutputTokens, 1, undefined, problems);
  checkRange("max_tool_calls", request.maxToolCalls, 1, 30, problems);
  checkRange("temperature", request.temperature, 0, 2, problems);
  checkRange("top_p", request.topP, 0, 1, problems);
  checkRange("top_k", request.topK, 0, undefined, problems);
  checkRange("top_logprobs", request.topLogprobs, 0, 20, problems);
  checkRange("frequency_penalty", request.frequencyPenalty, -2, 2, problems);
  checkRange("presence_penalty", request.presencePenalty, -2, 2, problems);
}

/** Written so that NaN, which protobuf can carry, is out of every range. */
function checkRange(
  path: string,
  value: number | undefined,
  least: number,
  most: number | undefined,
  problems: Problems,
): void {
  if (value === undefined) return;
  if (value >= least && (most === undefined || value <= most)) return;
  problems.add(path, most === undefined ? `must be at least ${least}` : `must be between ${least} and ${most}`);
}

function checkIdentifiers(request: RunTurnRequest, problems: Problems): void {
  if (request.sessionId !== undefined) checkIdentifier("session_id", request.sessionId, 256, problems);
  if (request.user !== undefined) checkIdentifier("user", request.user, 256, problems);
  if (request.safetyIdentifier !== undefined) checkOpen("safety_identifier", request.safetyIdentifier, problems);
  if (request.promptCacheKey !== undefined) checkOpen("prompt_cache_key", request.promptCacheKey, problems);
}

/** An identifier without a limit of its own. */
const checkOpen = (path: string, text: string, problems: Problems): void =>
  checkIdentifier(path, text, Number.POSITIVE_INFINITY, problems);

function checkMetadata(metadata: Readonly<Record<string, string>>, problems: Problems): void {
  const keys = Object.keys(metadata);
  if (keys.length > maxPairs) return problems.add("metadata", `at most ${maxPairs} pairs`);
  for (const key of keys) {
    const path = isLongerThan(key, 64) ? "metadata" : `metadata.${key}`;
    if (key === "") problems.add("metadata", "keys must have at least 1 character");
    if (isLongerThan(key, 64)) problems.add(path, "keys must have at most 64 characters");
    if (/[[\]]/.test(key)) problems.add(path, "keys must not contain brackets");
    // No protobuf map can hold it: the pair would vanish on its way.
    if (key === "__proto__") problems.add(path, "this key is reserved");
    checkIdentifier(path, key, Number.POSITIVE_INFINITY, problems);
    checkIdentifier(path, metadata[key] ?? "", 512, problems);
  }
}

function checkMembers(path: string, values: readonly string[], allowed: ReadonlySet<string>, problems: Problems): void {
  for (const [index, value] of values.entries()) checkMember(`${path}.${index}`, value, allowed, problems);
}

function checkMember(path: string, value: string, allowed: ReadonlySet<string>, problems: Problems): void {
  if (!allowed.has(value)) problems.add(path, `must be one of ${[...allowed].join(", ")}`);
}
