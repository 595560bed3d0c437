/** A turn as the options of a call of the interface. */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ToolChoice,
} from "@ai-sdk/provider";
import type { TextFormat, TurnRequest } from "../../turn/request.ts";
import type { Lose, Target } from "../dialect.ts";
import { lastEffort } from "../effort.ts";
import { refersTo } from "../offered.ts";
import { wantsLogprobs } from "../served.ts";
import { declareUnread, describe, wrapping } from "../told-tool.ts";
import { type SentTool, SentTools } from "../tool-names.ts";
import type { Words } from "../words.ts";
import type { SdkVersion } from "./load.ts";
import { promptOf } from "./prompt.ts";

const wordless = "the interface has no words for it";

/** @param version of the interface that the package implements */
export function callOptions(
  request: TurnRequest,
  target: Target,
  lose: Lose,
  version: SdkVersion,
): LanguageModelV4CallOptions {
  const words: Words = { target, tools: SentTools.of(request, true), lose };
  declareUnsaid(request, words);
  const reasoning = version === "v4" ? reasoningOf(request, words) : declareReasoning(request, words);
  const { maxOutputTokens, temperature, topP, topK, frequencyPenalty, presencePenalty } = request;
  return {
    prompt: promptOf(request, words),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(topK !== undefined && { topK }),
    ...(frequencyPenalty !== undefined && { frequencyPenalty }),
    ...(presencePenalty !== undefined && { presencePenalty }),
    ...(reasoning && { reasoning }),
    ...(request.textFormat && { responseFormat: responseFormat(request.textFormat) }),
    ...toolOptions(request, words),
  };
}

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** Version 4 takes an effort and nothing else about reasoning. */
function reasoningOf(request: TurnRequest, words: Words): (typeof efforts)[number] | undefined {
  const { effort: _, ...others } = request.reasoning ?? {};
  const names = { ...others, max_tokens: others.maxTokens, maxTokens: undefined };
  for (const [name, value] of Object.entries(names)) {
    if (value !== undefined) words.lose(`reasoning.${name}`, wordless);
  }
  const asked = lastEffort(request, words);
  const effort = efforts.find((each) => each === asked?.value);
  if (asked && effort === undefined) words.lose(asked.path, wordless);
  return effort;
}

function declareReasoning(request: TurnRequest, { lose }: Words): undefined {
  if (request.reasoning !== undefined) lose("reasoning", wordless);
  for (const [index, { type }] of request.input.entries()) {
    if (type === "configuration_update") lose(`input.${index}`, wordless);
  }
}

function responseFormat(format: TextFormat): NonNullable<LanguageModelV4CallOptions["responseFormat"]> {
  if (format.type === "text") return { type: "text" };
  if (format.type === "json_object") return { type: "json" };
  const { name, description, schemaJson } = format;
  return { type: "json", name, schema: JSON.parse(schemaJson), ...(description !== undefined && { description }) };
}

function toolOptions(request: TurnRequest, words: Words): Pick<LanguageModelV4CallOptions, "tools" | "toolChoice"> {
  const { list, searches } = words.tools;
  for (const path of searches) words.lose(path, "all tools are there from the beginning: there is nothing to search");
  if (list.length === 0) return {};
  if (request.parallelToolCalls === false) words.lose("parallel_tool_calls", wordless);
  const toolChoice = choiceOf(request, words);
  return { tools: list.map((tool) => functionOf(tool, words)), ...(toolChoice && { toolChoice }) };
}

function functionOf(offered: SentTool, { lose }: Words): LanguageModelV4FunctionTool {
  const { path, tool, sentName } = offered;
  declareUnread(tool, path, lose);
  const description = describe(offered);
  return {
    type: "function",
    name: sentName,
    inputSchema: tool.type === "function" ? schemaOf(tool.parametersJson) : wrapping(tool, path, lose),
    ...(description !== undefined && { description }),
    ...(tool.type === "function" && tool.strict !== undefined && { strict: tool.strict }),
  };
}

const schemaOf = (json: string): LanguageModelV4FunctionTool["inputSchema"] =>
  json === "null" ? { type: "object", properties: {} } : JSON.parse(json);

function choiceOf({ toolChoice: choice }: TurnRequest, { tools }: Words): LanguageModelV4ToolChoice | undefined {
  if (choice === undefined) return undefined;
  if (typeof choice === "string") return { type: choice };
  // The other tools are not sent: a limit that nobody can overstep.
  if (choice.type === "allowed_tools") return { type: choice.mode };
  if (choice.tool.type === "namespace") return { type: "required" };
  const { tool: reference } = choice;
  const named = tools.list.find(({ tool, namespace }) => refersTo(reference, tool, namespace?.name));
  return { type: "tool", toolName: named?.sentName ?? reference.name ?? "" };
}

function declareUnsaid(request: TurnRequest, { target, lose }: Words): void {
  const unsaid: Readonly<Record<string, unknown>> = {
    "text.verbosity": request.verbosity,
    image_config: request.imageConfigJson,
    prompt_cache_key: request.promptCacheKey,
    prompt_cache_options: request.promptCacheOptionsJson,
    cache_control: request.cacheControl,
    max_tool_calls: request.maxToolCalls,
    top_logprobs: request.topLogprobs,
    service_tier: target.tier === "default" ? undefined : target.tier,
  };
  for (const [path, value] of Object.entries(unsaid)) {
    if (value !== undefined) lose(path, wordless);
  }
  if (request.identityField) lose(request.identityField, wordless);
  const logprobs = request.include.indexOf("message.output_text.logprobs");
  if (wantsLogprobs(request) && logprobs !== -1) lose(`include.${logprobs}`, wordless);
}
