/**
 * What a request asks for, out of its contract form: the open-ended subtrees are scanned, parsed and checked here for both doors.
 *
 * The scalars have been checked before, by proto/contract.
 */
import { promptCacheOptions } from "@sluice/proto/contract/caching.js";
import { imageConfig, stopServerToolsWhen, trace } from "@sluice/proto/contract/settings.js";
import { tool } from "@sluice/proto/contract/tools.js";
import type { FusionPlugin, RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { scanValue } from "@sluice/proto/runtime/validation/json-scan.js";
import { Problems } from "@sluice/proto/runtime/validation/problems.js";
import type { Shape } from "@sluice/proto/runtime/validation/shape.js";
import { DeclaredTools } from "./declared-tools.ts";
import { parseInput } from "./parse-input.ts";
import { type Aliases, neutralizeAll } from "./parse-kinds.ts";
import { parseReasoning, parseTextFormat } from "./parse-settings.ts";
import { parseToolChoice } from "./parse-tool-choice.ts";
import { parseTools } from "./parse-tools.ts";
import type { Plugins, StopCondition, TurnRequest } from "./request.ts";

export interface ParseOptions {
  /** Whether the JSON texts were scanned where the body was read: then nothing that costs memory or has two meanings is in them. */
  readonly scanned?: boolean;
  /** Prefixes that mean the same as `service:` in types of tools and items. */
  readonly aliases?: Aliases;
  /** Whom a provider may hold to account. */
  readonly identityHash?: string;
  /** In the place of the one in the request. */
  readonly promptCacheKey?: string | undefined;
}

/** @throws Fault INVALID_REQUEST with every problem and its path */
export function parseTurn(request: RunTurnRequest, { scanned = false, ...options }: ParseOptions = {}): TurnRequest {
  if (!scanned) scanSubtrees(request);
  try {
    return parsed(request, options);
  } catch (error) {
    // Whoever said so had not scanned them: it is told where they go wrong.
    if (error instanceof SyntaxError) scanSubtrees(request);
    throw error;
  }
}

function parsed(request: RunTurnRequest, { aliases = [], identityHash, promptCacheKey }: ParseOptions): TurnRequest {
  const problems = new Problems();
  const declared = new DeclaredTools();
  const tools = parseTools(textOf(request.toolsJson), declared, aliases, problems);
  const input = parseInput(valueOf(request.inputJson), declared, aliases, problems);
  declared.checkTogether(problems);
  const toolChoice = parseToolChoice(valueOf(request.toolChoiceJson), declared, aliases, problems);
  const textFormat = parseTextFormat(textOf(request.textFormatJson), problems);
  const reasoning = parseReasoning(valueOf(request.reasoningJson), problems);
  const imageConfigJson = verbatim(request.imageConfigJson, "image_config", imageConfig, problems);
  const promptCacheOptionsJson = verbatim(
    request.promptCacheOptionsJson,
    "prompt_cache_options",
    promptCacheOptions,
    problems,
  );
  verbatim(request.traceJson, "trace", trace, problems);
  const stopsWhen = verbatim(request.stopServerToolsWhenJson, "stop_server_tools_when", stopServerToolsWhen, problems);
  if (request.provider?.sortBy === "exacto") problems.add("provider.sort", "exacto is not available yet");
  problems.throwIfAny();
  return {
    ...scalarsOf(request, aliases),
    input,
    tools,
    ...(toolChoice !== undefined && { toolChoice }),
    ...(textFormat && { textFormat }),
    ...(reasoning && { reasoning }),
    ...(imageConfigJson !== undefined && { imageConfigJson }),
    ...(promptCacheOptionsJson !== undefined && { promptCacheOptionsJson }),
    ...(stopsWhen !== undefined && { stopServerToolsWhen: [JSON.parse(stopsWhen)].flat() as readonly StopCondition[] }),
    ...(identityHash !== undefined && { identityHash }),
    ...(promptCacheKey !== undefined && { promptCacheKey }),
    ...identityFieldOf(request),
  };
}

function identityFieldOf({ safetyIdentifier, user }: RunTurnRequest): Pick<TurnRequest, "identityField"> {
  if (safetyIdentifier !== undefined) return { identityField: "safety_identifier" };
  return user === undefined ? {} : { identityField: "user" };
}

function scanSubtrees(request: RunTurnRequest): void {
  const scan = (json: Uint8Array, name: string) => json.length > 0 && scanValue(json, name);
  scan(request.toolsJson, "tools");
  scan(request.inputJson, "input");
  scan(request.toolChoiceJson, "tool_choice");
  scan(request.textFormatJson, "text.format");
  scan(request.reasoningJson, "reasoning");
  scan(request.imageConfigJson, "image_config");
  scan(request.promptCacheOptionsJson, "prompt_cache_options");
  scan(request.traceJson, "trace");
  scan(request.stopServerToolsWhenJson, "stop_server_tools_when");
}

/** The JSON text of an object as the client wrote it, checked by its shape. */
function verbatim(json: Uint8Array, name: string, shape: Shape, problems: Problems): string | undefined {
  const text = textOf(json)?.toString("utf8");
  if (text !== undefined) shape.check(JSON.parse(text), name, problems);
  return text;
}

/** Undefined when there is no subtree. */
const textOf = (json: Uint8Array): Buffer | undefined =>
  json.length === 0 ? undefined : Buffer.from(json.buffer, json.byteOffset, json.byteLength);

function valueOf(json: Uint8Array): unknown {
  const text = textOf(json);
  return text && (JSON.parse(text.toString("utf8")) as unknown);
}

/** Absent, not undefined or empty, is what unset means from here on. */
function scalarsOf(request: RunTurnRequest, aliases: Aliases): Omit<TurnRequest, "input" | "tools"> {
  return {
    models: [...new Set([request.model, ...request.models])].filter((slug) => slug !== ""),
    stream: request.stream,
    include: request.include,
    outputModalities: request.modalities,
    echoUpstreamBody: request.echoUpstreamBody && request.stream,
    serviceMetadata: request.serviceMetadata,
    ...(request.instructions !== undefined && { instructions: request.instructions }),
    ...(request.maxOutputTokens !== undefined && { maxOutputTokens: request.maxOutputTokens }),
    ...(request.temperature !== undefined && { temperature: request.temperature }),
    ...(request.topP !== undefined && { topP: request.topP }),
    ...(request.topK !== undefined && { topK: request.topK }),
    ...(request.frequencyPenalty !== undefined && { frequencyPenalty: request.frequencyPenalty }),
    ...(request.presencePenalty !== undefined && { presencePenalty: request.presencePenalty }),
    ...(request.topLogprobs !== undefined && { topLogprobs: request.topLogprobs }),
    ...(request.parallelToolCalls !== undefined && { parallelToolCalls: request.parallelToolCalls }),
    ...(request.textVerbosity !== "" && { verbosity: request.textVerbosity }),
    ...(request.serviceTier !== "" && { serviceTier: request.serviceTier }),
    ...(request.sessionId !== undefined && request.sessionId !== "" && { sessionId: request.sessionId }),
    ...(request.promptCacheKey !== undefined && { promptCacheKey: request.promptCacheKey }),
    ...(request.provider && { provider: request.provider }),
    ...(request.plugins.length > 0 && { plugins: pluginsOf(request.plugins, aliases) }),
    // Conditions take its place; a provider would take both to count.
    ...(request.maxToolCalls !== undefined &&
      request.stopServerToolsWhenJson.length === 0 && { maxToolCalls: request.maxToolCalls }),
    ...(request.truncation !== "" && { truncation: request.truncation as "auto" | "disabled" }),
    ...(request.cacheControl && { cacheControl: { ttl: request.cacheControl.ttl === "1h" ? "1h" : "5m" } }),
  };
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
