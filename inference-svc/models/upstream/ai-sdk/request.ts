/** Converts a turn to call options of the AI SDK. */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4FunctionTool,
  LanguageModelV4ToolChoice,
} from "@ai-sdk/provider";
import type { TextFormat, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { lastEffort } from "../translate/reasoning-effort.ts";
import { refersTo } from "../translate/offered-tools.ts";
import { dropToolFields, describeTool, buildWrapperSchema } from "../translate/tool-description.ts";
import { plainForm } from "../translate/names/name-rules.ts";
import { type SentTool, SentTools } from "../translate/names/tool-names.ts";
import { dropTier } from "../translate/sent-tier.ts";
import { dropExtensions } from "../translate/extensions.ts";
import { FormatParameters, ParameterObject } from "../translate/parameters.ts";
import type { TranslationContext } from "../translate/context.ts";
import type { SdkVersion } from "./load.ts";
import { buildPrompt } from "./messages.ts";
import { dropAddition } from "../translate/additions.ts";

const noField = "the interface of the AI SDK has no field for it";

/** Names of settings in the AI SDK interface, which packages also use in their warnings. */
export const sdkNames = {
  max_output_tokens: "maxOutputTokens",
  temperature: "temperature",
  top_p: "topP",
  top_k: "topK",
  frequency_penalty: "frequencyPenalty",
  presence_penalty: "presencePenalty",
  stop: "stopSequences",
  seed: "seed",
} as const;

const parameters = new FormatParameters(sdkNames, noField);

/** @param version interface version of the package */
export function callOptions(
  request: TurnRequest,
  target: Target,
  onDropped: OnDropped,
  version: SdkVersion,
): LanguageModelV4CallOptions {
  const translation: TranslationContext = { target, tools: SentTools.of(request, plainForm), onDropped };
  dropUnsupported(request, translation);
  const reasoning = version === "v4" ? reasoningOf(request, translation) : declareReasoning(request, translation);
  const sampling = new ParameterObject();
  parameters.write(request, target, onDropped, sampling);
  return {
    prompt: buildPrompt(request, translation),
    ...sampling.members,
    ...(reasoning && { reasoning }),
    ...(request.textFormat && { responseFormat: responseFormat(request.textFormat) }),
    ...toolOptions(request, translation),
  };
}

const efforts = ["none", "minimal", "low", "medium", "high", "xhigh", "max"] as const;

/** The reasoning effort. Version 4 of the interface has a field for it, and no other setting of reasoning. */
function reasoningOf(request: TurnRequest, translation: TranslationContext): (typeof efforts)[number] | undefined {
  const { effort: _, ...others } = request.reasoning ?? {};
  const names = { ...others, max_tokens: others.maxTokens, maxTokens: undefined };
  for (const [name, value] of Object.entries(names)) {
    if (value !== undefined) translation.onDropped(`reasoning.${name}`, noField);
  }
  const requested = lastEffort(request, translation);
  const effort = efforts.find((each) => each === requested?.value);
  if (requested && effort === undefined) translation.onDropped(requested.path, noField);
  return effort;
}

function declareReasoning(request: TurnRequest, { onDropped }: TranslationContext): undefined {
  if (request.reasoning !== undefined) onDropped("reasoning", noField);
  for (const [index, { type }] of request.input.entries()) {
    if (type === "configuration_update") onDropped(`input.${index}`, noField);
  }
}

function responseFormat(format: TextFormat): NonNullable<LanguageModelV4CallOptions["responseFormat"]> {
  if (format.type === "text") return { type: "text" };
  if (format.type === "json_object") return { type: "json" };
  const { name, description, schemaJson } = format;
  return { type: "json", name, schema: JSON.parse(schemaJson), ...(description !== undefined && { description }) };
}

function toolOptions(
  request: TurnRequest,
  translation: TranslationContext,
): Pick<LanguageModelV4CallOptions, "tools" | "toolChoice"> {
  const { list, searches } = translation.tools;
  for (const path of searches) translation.onDropped(path, "all tools are sent, so there is nothing to search");
  if (list.length === 0) return {};
  if (request.parallelToolCalls === false) translation.onDropped("parallel_tool_calls", noField);
  const toolChoice = choiceOf(request, translation);
  return { tools: list.map((tool) => functionOf(tool, translation)), ...(toolChoice && { toolChoice }) };
}

function functionOf(offered: SentTool, { onDropped }: TranslationContext): LanguageModelV4FunctionTool {
  const { path, tool, sentName } = offered;
  dropToolFields(offered, onDropped);
  const description = describeTool(offered);
  return {
    type: "function",
    name: sentName,
    inputSchema: tool.type === "function" ? schemaOf(tool.parametersJson) : buildWrapperSchema(tool, path, onDropped),
    ...(description !== undefined && { description }),
    ...(tool.type === "function" && tool.strict !== undefined && { strict: tool.strict }),
  };
}

const schemaOf = (json: string): LanguageModelV4FunctionTool["inputSchema"] =>
  json === "null" ? { type: "object", properties: {} } : JSON.parse(json);

function choiceOf(
  { toolChoice: choice }: TurnRequest,
  { tools }: TranslationContext,
): LanguageModelV4ToolChoice | undefined {
  if (choice === undefined) return undefined;
  if (typeof choice === "string") return { type: choice };
  // Tools the choice excludes are not sent at all.
  if (choice.type === "allowed_tools") return { type: choice.mode };
  if (choice.tool.type === "namespace") return { type: "required" };
  const { tool: reference } = choice;
  const named = tools.list.find(({ tool, namespace }) => refersTo(reference, tool, namespace?.name));
  return { type: "tool", toolName: named?.sentName ?? reference.name ?? "" };
}

function dropUnsupported(request: TurnRequest, { target, onDropped }: TranslationContext): void {
  const unsupported: Readonly<Record<string, unknown>> = {
    "text.verbosity": request.verbosity,
    image_config: request.imageConfigJson,
    prompt_cache_key: request.promptCacheKey,
    prompt_cache_options: request.promptCacheOptionsJson,
    cache_control: request.cacheControl,
    max_tool_calls: request.maxToolCalls,
    service_tier: target.tier === "default" ? undefined : target.tier,
  };
  for (const [path, value] of Object.entries(unsupported)) {
    if (value !== undefined) onDropped(path, noField);
  }
  dropTier(request.serviceTier, target.tier, onDropped);
  dropExtensions(request, onDropped, [], noField);
  if (request.identityField) onDropped(request.identityField, noField);
  dropAddition(request, "message.output_text.logprobs", onDropped, noField);
}
