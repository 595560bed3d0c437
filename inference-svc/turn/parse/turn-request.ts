/**
 * Parses a protobuf request. JSON texts in it are scanned, parsed and checked here for all handlers; the scalar fields
 * have already been checked by proto/contract.
 */
import { maxExtraBytes, maxExtraFields } from "@sluice/proto/contract/request/extra-fields.js";
import { openBrace } from "@sluice/proto/lib/json/bytes.js";
import { membersOf } from "@sluice/proto/lib/json/span.js";
import { promptCacheOptions } from "@sluice/proto/contract/request/caching.js";
import { contextManagement, prediction } from "@sluice/proto/contract/request/extensions.js";
import { type ParameterValues, parameterList } from "@sluice/proto/contract/request/parameters.js";
import { imageConfig, stopServerToolsWhen, trace } from "@sluice/proto/contract/request/settings.js";
import { tool } from "@sluice/proto/contract/tools/tools.js";
import type { FusionPlugin, RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { scanValue } from "@sluice/proto/lib/json/scan.js";
import { Problems } from "@sluice/proto/lib/validation/problems.js";
import { type Shape, checkShape } from "@sluice/proto/lib/validation/shape.js";
import { DeclaredTools } from "./declared-tools.ts";
import { parseInput } from "./input.ts";
import { IgnoredFields } from "./ignored-fields.ts";
import { type Aliases, neutralizeAll } from "./kinds.ts";
import { type AllFields, parseReasoning, parseTextFormat } from "./settings.ts";
import { parseToolChoice } from "./tool-choice.ts";
import { parseTools } from "./tools.ts";
import type { Plugins, StopCondition, Tool, TurnRequest } from "../request.ts";

/** Finds models by names other than their slugs. */
export interface SlugLookup {
  /** The slug for a model name or alias. @returns undefined for a name of no model */
  resolve(name: string): string | undefined;
}

export interface ParseOptions {
  /** Whether the JSON texts were scanned when the body was read, so they contain no duplicate keys and nothing that takes much memory. */
  readonly scanned?: boolean;
  /** Prefixes that mean the same as `service:` in types of tools and items. */
  readonly aliases?: Aliases;
  /** Converts other names of models to slugs. */
  readonly names?: SlugLookup;
  /** Hash of the key whose conversations are remembered; absent for requests that are not expected to be repeated. */
  readonly owner?: string;
  /** Keyed hash of the end user. */
  readonly identityHash?: string;
  /** Hash that replaces the prompt cache key of the request. */
  readonly promptCacheKey?: string | undefined;
}

/** Parses a request. @throws Fault INVALID_REQUEST with every problem and its path */
export function parseTurn(request: RunTurnRequest, options: ParseOptions = {}): TurnRequest {
  if (options.scanned !== true) scanSubtrees(request);
  try {
    return parsed(request, options);
  } catch (error) {
    // The client claims a scan that was not done; scanning finds the place of the error.
    if (error instanceof SyntaxError) scanSubtrees(request);
    throw error;
  }
}

function parsed(request: RunTurnRequest, options: ParseOptions): TurnRequest {
  const { aliases = noAliases, names, owner, identityHash, promptCacheKey } = options;
  // The gateway checks whole bodies at the door of messages, and everything but hosted tools at the door of chat
  // completions.
  const isChat = request.door === "chat";
  const ignored = request.door === "" || isChat ? new IgnoredFields(isChat) : undefined;
  const problems = new Problems(request.door === "" ? ignored?.add : undefined);
  const declared = new DeclaredTools();
  const turn = settingsOf(request);
  turn.models = modelsOf(request, names);
  if (request.toolsJson.length > 0)
    turn.tools = parseTools(textOf(request.toolsJson), declared, aliases, problems, ignored);
  turn.input = parseInput(textOf(request.inputJson), declared, aliases, problems, owner, ignored);
  declared.checkTogether(problems, request.door === "messages");
  if (settingSubtrees.some(({ field }) => request[field].length > 0))
    parseSettings(turn, request, { declared, aliases, problems, ignored });
  problems.throwIfAny();
  if (ignored) turn.ignoredFields = notNamedBefore(ignored.list(turn.input), request);
  if (request.plugins.length > 0) turn.plugins = pluginsOf(request.plugins, aliases);
  if (promptCacheKey !== undefined) turn.promptCacheKey = promptCacheKey;
  turn.identityHash = identityHash;
  // For readers, an absent field and an undefined one are equal.
  return turn as TurnRequest;
}

interface SettingsParts {
  readonly declared: DeclaredTools;
  readonly aliases: Aliases;
  readonly problems: Problems;
  readonly ignored: IgnoredFields | undefined;
}

/** Parses the settings that are JSON texts; most requests have none. */
function parseSettings(
  turn: Unfinished,
  request: RunTurnRequest,
  { declared, aliases, problems, ignored }: SettingsParts,
): void {
  turn.toolChoice = parseToolChoice(valueOf(request.toolChoiceJson), declared, aliases, problems);
  turn.textFormat = parseTextFormat(textOf(request.textFormatJson), problems, ignored);
  turn.reasoning = parseReasoning(valueOf(request.reasoningJson), problems, request.door);
  turn.imageConfigJson = verbatim(request.imageConfigJson, "image_config", imageConfig, problems);
  const optionsJson = request.promptCacheOptionsJson;
  turn.promptCacheOptionsJson = verbatim(optionsJson, "prompt_cache_options", promptCacheOptions, problems);
  turn.predictionJson = verbatim(request.predictionJson, "prediction", prediction, problems);
  const edits = request.contextManagementJson;
  turn.contextManagementJson = verbatim(edits, "context_management", contextManagement, problems);
  checked(request.traceJson, "trace", trace, problems);
  turn.extraFields = parseExtraFields(textOf(request.extraJson), problems);
  const stopsWhen = checked(request.stopServerToolsWhenJson, "stop_server_tools_when", stopServerToolsWhen, problems);
  if (stopsWhen !== undefined) turn.stopServerToolsWhen = [stopsWhen as StopCondition | StopCondition[]].flat();
}

/** Unknown fields of the settings the door has not reported yet. */
function notNamedBefore(paths: readonly string[], { unknownFields }: RunTurnRequest): readonly string[] {
  if (paths.length === 0 || unknownFields.length === 0) return paths;
  return paths.filter((path) => !unknownFields.some(({ name }) => name === path));
}

const noAliases: Aliases = [];
/** One list for all requests without tools, because dialects cache the translation by the list. */
const noTools: readonly Tool[] = [];

/** The settings that are JSON texts, with their names in errors. */
const settingSubtrees = [
  { field: "toolChoiceJson", name: "tool_choice" },
  { field: "textFormatJson", name: "text.format" },
  { field: "reasoningJson", name: "reasoning" },
  { field: "imageConfigJson", name: "image_config" },
  { field: "promptCacheOptionsJson", name: "prompt_cache_options" },
  { field: "traceJson", name: "trace" },
  { field: "predictionJson", name: "prediction" },
  { field: "contextManagementJson", name: "context_management" },
  { field: "stopServerToolsWhenJson", name: "stop_server_tools_when" },
  { field: "extraJson", name: "extra" },
] as const satisfies readonly { readonly field: keyof RunTurnRequest; readonly name: string }[];

function scanSubtrees(request: RunTurnRequest): void {
  const scan = (json: Uint8Array, name: string) => json.length > 0 && scanValue(json, name);
  scan(request.toolsJson, "tools");
  scan(request.inputJson, "input");
  for (const { field, name } of settingSubtrees) scan(request[field], name);
}

/** The value of a JSON text, checked by its shape. @returns undefined when the request has none */
function checked(json: Uint8Array, name: string, shape: Shape, problems: Problems): unknown {
  const value = valueOf(json);
  if (value !== undefined) checkShape(shape, value, name, problems);
  return value;
}

/** A JSON text as the client wrote it, after a check of the object by its shape. */
function verbatim(json: Uint8Array, name: string, shape: Shape, problems: Problems): string | undefined {
  return checked(json, name, shape, problems) === undefined ? undefined : textOf(json)?.toString("utf8");
}

/** The bytes of a JSON text. @returns undefined when the request has none */
const textOf = (json: Uint8Array): Buffer | undefined =>
  json.length === 0 ? undefined : Buffer.from(json.buffer, json.byteOffset, json.byteLength);

function valueOf(json: Uint8Array): unknown {
  const text = textOf(json);
  return text && (JSON.parse(text.toString("utf8")) as unknown);
}

/** A request without the settings of embeddings, and without fields that only layers set. */
type Unfinished = AllFields<Omit<TurnRequest, "sources" | "foundFiles" | "files" | "pages" | "fused" | "embedding">>;

/**
 * The scalar fields of a request; fields parsed from JSON texts are unset. All requests have the keys of one object
 * made by JSON.parse: an object that grows by more than a dozen computed names is a hash table, which took 40 KB and
 * 100 us a turn. Fields are assigned by name, since Object.assign of a second object took 1 us.
 */
function settingsOf(request: RunTurnRequest): Unfinished {
  const turn = { ...blank };
  const byField = turn as Record<string, unknown>;
  for (const { field, form } of parameterList) {
    const value = request[field];
    if (value !== undefined) byField[field] = form.fromField(value);
  }
  turn.instructions = request.instructions;
  turn.stream = request.stream;
  turn.parallelToolCalls = request.parallelToolCalls;
  turn.verbosity = request.textVerbosity || undefined;
  turn.include = request.include;
  turn.outputModalities = request.modalities;
  turn.sessionId = request.sessionId || undefined;
  turn.promptCacheKey = request.promptCacheKey;
  turn.serviceTier = request.serviceTier || undefined;
  turn.provider = request.provider;
  // Stop conditions replace max_tool_calls: with both, a provider would count both.
  if (request.stopServerToolsWhenJson.length === 0) turn.maxToolCalls = request.maxToolCalls;
  turn.truncation = (request.truncation || undefined) as TurnRequest["truncation"];
  if (request.cacheControl) turn.cacheControl = { ttl: request.cacheControl.ttl === "1h" ? "1h" : "5m" };
  if (request.anthropicBetas.length > 0) turn.anthropicBetas = request.anthropicBetas;
  turn.door = (request.door || undefined) as TurnRequest["door"];
  if (request.safetyIdentifier !== undefined) turn.identityField = "safety_identifier";
  else if (request.user !== undefined) turn.identityField = "user";
  turn.echoUpstreamBody = request.echoUpstreamBody && request.stream;
  turn.serviceMetadata = request.serviceMetadata;
  turn.mayKeepContent = request.mayKeepContent || undefined;
  return turn;
}

const unset: Omit<Unfinished, keyof ParameterValues> = {
  models: [],
  input: [],
  instructions: undefined,
  stream: false,
  parallelToolCalls: undefined,
  tools: noTools,
  toolChoice: undefined,
  textFormat: undefined,
  verbosity: undefined,
  reasoning: undefined,
  include: [],
  outputModalities: [],
  sessionId: undefined,
  promptCacheKey: undefined,
  ignoredFields: undefined,
  serviceTier: undefined,
  provider: undefined,
  plugins: undefined,
  maxToolCalls: undefined,
  stopServerToolsWhen: undefined,
  truncation: undefined,
  imageConfigJson: undefined,
  cacheControl: undefined,
  promptCacheOptionsJson: undefined,
  predictionJson: undefined,
  anthropicBetas: undefined,
  contextManagementJson: undefined,
  extraFields: undefined,
  door: undefined,
  identityHash: undefined,
  identityField: undefined,
  echoUpstreamBody: false,
  serviceMetadata: false,
  mayKeepContent: undefined,
};

const blank = blankTurn();

function blankTurn(): Unfinished {
  const keys = [...parameterList.map(({ field }) => field), ...Object.keys(unset)];
  const turn = JSON.parse(JSON.stringify(Object.fromEntries(keys.map((key) => [key, null])))) as Record<
    string,
    unknown
  >;
  // Each key has held each kind of value, so V8 accepts any of them: otherwise the first number in a field would give
  // every later turn another hidden class.
  for (const key of keys) for (const value of [1, 0.5, "", undefined]) turn[key] = value;
  return Object.assign(turn, unset) as unknown as Unfinished;
}

/** Slugs of the models without duplicates. A name of no model stays, because it is refused later, with the help of the catalogue. */
function modelsOf({ model, models }: RunTurnRequest, names: ParseOptions["names"]): readonly string[] {
  if (models.length === 0) return model === "" ? [] : [names?.resolve(model) ?? model];
  return [...new Set([model, ...models].filter((name) => name !== "").map((name) => names?.resolve(name) ?? name))];
}

const pluginsOf = (plugins: RunTurnRequest["plugins"], aliases: Aliases): Plugins =>
  Object.fromEntries(
    plugins.flatMap(({ plugin }) => {
      if (plugin.case === undefined) return [];
      return [[plugin.case, plugin.case === "fusion" ? spelledPlainly(plugin.value, aliases) : plugin.value]];
    }),
  );

function spelledPlainly(plugin: FusionPlugin, aliases: Aliases): FusionPlugin {
  if (plugin.toolsJson.length === 0) return plugin;
  const tools: unknown = JSON.parse(Buffer.from(plugin.toolsJson).toString());
  neutralizeAll(tools, tool.kinds, aliases);
  return { ...plugin, toolsJson: Buffer.from(JSON.stringify(tools)) };
}

/**
 * Reads unknown fields of a request. @param json an object @returns JSON texts of the fields as the client wrote them;
 * undefined when there are none
 */
function parseExtraFields(json: Buffer | undefined, problems: Problems): Readonly<Record<string, string>> | undefined {
  if (json === undefined) return undefined;
  const before = problems.count;
  if (json.length > maxExtraBytes) problems.add("extra", `at most ${maxExtraBytes} bytes`);
  if (json[0] !== openBrace) problems.add("extra", "must be an object");
  if (problems.count > before) return undefined;
  const members = membersOf(json);
  if (members.length > maxExtraFields) problems.add("extra", `at most ${maxExtraFields} fields`);
  return Object.fromEntries(members.map(({ key, start, end }) => [key, json.toString("utf8", start, end)]));
}
