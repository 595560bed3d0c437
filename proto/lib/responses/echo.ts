/**
 * Request settings that the response object repeats, as pieces of JSON that are built once and written several times.
 */
import type { RunTurnRequest } from "../../gen/sluice/inference/v1/turn_pb.ts";
import type { JsonObject } from "../validation/fields.ts";
import { ByteMemory } from "../json/byte-memory.ts";
import { elementsOf, membersOf, removeLineBreaks, withMembers } from "../json/span.ts";

export interface Echo {
  /** JSON of `instructions`. */
  readonly instructionsJson: string;
  /** JSON members from `parallel_tool_calls` to `reasoning`, without commas around them. */
  readonly beforeTier: string;
  /** JSON members from `store` to `safety_identifier`, without commas around them. */
  readonly afterTier: string;
}

interface Samplers {
  readonly temperature?: number;
  readonly topP?: number;
  readonly penalty?: number;
}

/** Values of unset sampling parameters for clients that do not accept null. */
const filledSamplers: Samplers = { temperature: 1, topP: 1, penalty: 0 };
const unsetSamplers: Samplers = {};

/** Body fields that the checked request no longer has in their original form. */
interface Sent {
  /** `reasoning` as the client sent it; only known members are repeated. */
  readonly reasoning: JsonObject | null | undefined;
  readonly metadata: Readonly<Record<string, string>> | null | undefined;
}

/**
 * Builds the repeated settings. Members are joined into one text: a text concatenated step by step would keep all its
 * pieces in memory.
 * @param fillDefaults whether unset fields have their default instead of null
 */
export function buildEcho(request: RunTurnRequest, { reasoning, metadata }: Sent, fillDefaults: boolean): Echo {
  const isUnset = !fillDefaults && !reasoning && !metadata && !hasBeforeTier(request);
  return {
    instructionsJson: text(request.instructions),
    beforeTier: isUnset ? unsetBeforeTier : beforeTier(request, { reasoning, metadata }, fillDefaults),
    afterTier: hasAfterTier(request) ? afterTier(request) : unsetAfterTier,
  };
}

type BeforeTier = Samplable &
  Pick<
    RunTurnRequest,
    | "parallelToolCalls"
    | "toolChoiceJson"
    | "toolsJson"
    | "maxOutputTokens"
    | "maxToolCalls"
    | "truncation"
    | "textFormatJson"
    | "textVerbosity"
  >;

function hasBeforeTier(request: BeforeTier): boolean {
  const { toolChoiceJson, toolsJson, textFormatJson, parallelToolCalls, maxOutputTokens, maxToolCalls } = request;
  return (
    toolChoiceJson.length + toolsJson.length + textFormatJson.length > 0 ||
    (parallelToolCalls ?? maxOutputTokens ?? maxToolCalls) !== undefined ||
    request.truncation !== "" ||
    request.textVerbosity !== "" ||
    hasSamplers(request)
  );
}

function beforeTier(request: BeforeTier, { reasoning, metadata }: Sent, fillDefaults: boolean): string {
  const tools = toolsText(request.toolsJson);
  return [
    `"parallel_tool_calls":${request.parallelToolCalls ?? true}`,
    `"tool_choice":${verbatim(request.toolChoiceJson, '"auto"')}`,
    `"tools":${fillDefaults ? filledTools(tools) : tools}`,
    `"max_output_tokens":${number(request.maxOutputTokens)}`,
    `"max_tool_calls":${number(request.maxToolCalls)}`,
    metadata ? `"metadata":${JSON.stringify(metadata)}` : noMetadata,
    samplersJson(request, fillDefaults ? filledSamplers : unsetSamplers),
    `"truncation":"${request.truncation || "disabled"}"`,
    `"text":${textJson(request)}`,
    reasoning ? `"reasoning":${reasoningJson(reasoning)}` : noReasoning,
  ].join(",");
}

// The members when none of these fields is set, as in most requests: a constant needs no memory for each request.
const noMetadata = '"metadata":null';
const noReasoning = '"reasoning":{"effort":null,"summary":null}';
const noSamplers = '"temperature":null,"top_p":null,"frequency_penalty":null,"presence_penalty":null,"top_logprobs":0';

type Samplable = Pick<RunTurnRequest, "temperature" | "topP" | "frequencyPenalty" | "presencePenalty" | "topLogprobs">;

const hasSamplers = ({ temperature, topP, frequencyPenalty, presencePenalty, topLogprobs }: Samplable): boolean =>
  (temperature ?? topP ?? frequencyPenalty ?? presencePenalty ?? topLogprobs) !== undefined;

function samplersJson(request: Samplable, unset: Samplers): string {
  if (!hasSamplers(request) && unset === unsetSamplers) return noSamplers;
  const { temperature, topP, frequencyPenalty, presencePenalty, topLogprobs } = request;
  return [
    `"temperature":${number(temperature ?? unset.temperature)}`,
    `"top_p":${number(topP ?? unset.topP)}`,
    `"frequency_penalty":${number(frequencyPenalty ?? unset.penalty)}`,
    `"presence_penalty":${number(presencePenalty ?? unset.penalty)}`,
    `"top_logprobs":${topLogprobs ?? 0}`,
  ].join(",");
}

type AfterTier = Pick<RunTurnRequest, "user" | "promptCacheKey" | "safetyIdentifier" | "promptCacheOptionsJson">;

const hasAfterTier = (request: AfterTier): boolean =>
  request.promptCacheOptionsJson.length > 0 ||
  (request.user ?? request.promptCacheKey ?? request.safetyIdentifier) !== undefined;

const afterTier = (request: AfterTier): string =>
  [
    `"store":false,"background":false,"user":${text(request.user)}`,
    `"previous_response_id":null,"prompt_cache_key":${text(request.promptCacheKey)}`,
    `"safety_identifier":${text(request.safetyIdentifier)}${cacheOptions(request.promptCacheOptionsJson)}`,
  ].join(",");

const text = (value: string | undefined): string => (value === undefined ? "null" : JSON.stringify(value));
const number = (value: number | undefined): string => (value === undefined ? "null" : JSON.stringify(value));

/** The client's JSON on one line, because a line break would end the `data:` line of an event. */
function verbatim(json: Uint8Array, otherwise: string): string {
  if (json.length === 0) return otherwise;
  return removeLineBreaks(Buffer.from(json.buffer, json.byteOffset, json.byteLength));
}

const cacheOptions = (json: Uint8Array): string =>
  json.length === 0 ? "" : `,"prompt_cache_options":${verbatim(json, "")}`;

/**
 * Tools as they are shown, by the bytes in the request: an agent repeats its tools with every step, and the search for
 * credentials reads every byte.
 */
const shownTools = new ByteMemory<string>();

function toolsText(json: Uint8Array): string {
  if (json.length === 0) return "[]";
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
  const known = shownTools.find(bytes);
  if (known !== undefined) return known;
  const written = removeLineBreaks(bytes);
  const shown = withoutCredentials(written);
  // A text with removed credentials is not remembered, because credentials must not be kept after the request.
  if (shown === written) shownTools.keep(bytes, shown);
  return shown;
}

/** Removes the credentials of MCP servers, which only these servers may receive, from the repeated tools. */
function withoutCredentials(json: string): string {
  // A type may be written with escapes. The pattern does not begin with a quotation mark, because the search first
  // looks for the first character, and JSON is full of quotation marks.
  if (!json.includes('mcp"') && !json.includes("\\u")) return json;
  const bytes = Buffer.from(json);
  const tools = elementsOf(bytes).map(({ start, end }) => bytes.toString("utf8", start, end));
  return `[${tools.map((tool) => (isMcp(tool) ? withMembers(tool, { authorization: undefined, headers: undefined }) : tool)).join(",")}]`;
}

const isMcp = (tool: string): boolean => (JSON.parse(tool) as JsonObject | null)?.["type"] === "mcp";

/** Adds to function tools the members that clients without support for null require. */
function filledTools(json: string): string {
  const bytes = Buffer.from(json);
  const tools = elementsOf(bytes).map(({ start, end }) => filledTool(bytes.subarray(start, end)));
  return `[${tools.join(",")}]`;
}

function filledTool(bytes: Buffer): string {
  const tool = bytes.toString();
  const members = tool.startsWith("{") ? membersOf(bytes) : [];
  const isFunction = members.some(
    ({ key, start, end }) => key === "type" && bytes.toString("utf8", start, end) === '"function"',
  );
  if (!isFunction) return tool;
  const missing = ["description", "strict"].filter((name) => members.every(({ key }) => key !== name));
  return `${tool.slice(0, -1)}${missing.map((name) => `,"${name}":null`).join("")}}`;
}

const nothing = new Uint8Array();

const unsetBeforeTier = beforeTier(
  { toolChoiceJson: nothing, toolsJson: nothing, textFormatJson: nothing, textVerbosity: "", truncation: "" },
  { reasoning: undefined, metadata: undefined },
  false,
);

const unsetAfterTier = afterTier({
  user: undefined,
  promptCacheKey: undefined,
  safetyIdentifier: undefined,
  promptCacheOptionsJson: nothing,
});

function textJson({ textFormatJson, textVerbosity }: BeforeTier): string {
  const verbosity = textVerbosity === "" ? "" : `,"verbosity":${JSON.stringify(textVerbosity)}`;
  return `{"format":${verbatim(textFormatJson, '{"type":"text"}')}${verbosity}}`;
}

function reasoningJson(reasoning: JsonObject): string {
  const { effort = null, summary = null, enabled, max_tokens, context, mode } = reasoning;
  return JSON.stringify({ effort, summary, enabled, max_tokens, context, mode });
}
