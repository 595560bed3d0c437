/**
 * Converts a turn to the body of POST /model/{id}/converse
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html).
 */
import type { TextFormat, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { type JsonObject, isObject, jsonText } from "../json.ts";
import { dropUnsupported } from "../translate/blocks/unsupported.ts";
import type { Block } from "../translate/blocks/message-list.ts";
import { type Conversation, needsJsonInstruction } from "../translate/blocks/messages.ts";
import { type SamplingModel, samplers } from "../translate/blocks/samplers.ts";
import type { TranslationContext } from "../translate/context.ts";
import { FormatParameters, ParameterObject, writtenElsewhere } from "../translate/parameters.ts";
import { dropTier } from "../translate/sent-tier.ts";
import { converseSchemas } from "../translate/schemas/rules.ts";
import { sendAnswerSchema } from "../translate/schemas/sent-schema.ts";
import { plainForm } from "../translate/names/name-rules.ts";
import { SentTools } from "../translate/names/tool-names.ts";
import { type ConverseCacheMarks, cachePoint, openCacheMarks } from "./cache-marks.ts";
import { type Family, findFamily } from "./family.ts";
import { buildConversation, toConverseMessages } from "./messages.ts";
import { converseReasoning } from "./reasoning.ts";
import { type ConverseToolChoice, buildToolChoice, calledTools, converseTools } from "./tools.ts";

/** Output tokens from which a reasoning budget is computed when neither the request nor the endpoint has a limit. */
const defaultMaxTokens = 4_096;

export function converseBody(request: TurnRequest, target: Target, onDropped: OnDropped): string {
  const family = findFamily(target.upstreamModel);
  const translation: TranslationContext = { target, tools: SentTools.of(request, plainForm), onDropped };
  const marks = openCacheMarks(target, family, onDropped);
  const conversation = buildConversation(request, family, translation, marks);
  const { tools, choice } = toolSettings(request, family, translation, conversation, marks);
  marks.finish(request.cacheControl, tools, conversation.system, conversation.messages);
  const limit = request.maxOutputTokens ?? target.maxOutputTokens ?? defaultMaxTokens;
  const forced = [choice.toolChoice, choice.tool_choice].some(forces);
  // Bedrock answers 400 to a forced call together with reasoning, for every Claude up to 4.7.
  const around = { limit, forced, adaptsWhenForced: false, messages: conversation.messages };
  const thought = converseReasoning(request, family, translation, around);
  const { thinking } = thought.fields;
  const sampling = converseSamplers(request, family, { target, thinks: thinking !== undefined }, onDropped);
  // The reasoning budget must be smaller than the output limit, so the limit is sent with it.
  const maxTokens = isObject(thinking) && thinking.type === "enabled" ? limit : request.maxOutputTokens;
  dropUnsupported(request, onDropped, []);
  const passed = new ParameterObject();
  parameters.write(request, target, onDropped, passed);
  if (request.identityField) onDropped(request.identityField, "the format has no field for it");
  const { system, messages } = toConverseMessages(conversation);
  const body = {
    system: system.length > 0 ? system : undefined,
    messages,
    inferenceConfig: unlessEmpty({ maxTokens, ...sampling.inferenceConfig, stopSequences: request.stop }),
    toolConfig: tools.length > 0 ? { tools: toolList(tools), toolChoice: choice.toolChoice } : undefined,
    additionalModelRequestFields: unlessEmpty({
      ...passed.members,
      ...thought.fields,
      ...sampling.fields,
      tool_choice: choice.tool_choice,
    }),
    outputConfig: unlessEmpty({ effort: thought.effort, textFormat: outputFormat(request.textFormat, onDropped) }),
    serviceTier: serviceTier(request, target, onDropped),
  };
  return jsonText(body);
}

const parameters = new FormatParameters({
  max_output_tokens: writtenElsewhere,
  temperature: writtenElsewhere,
  top_p: writtenElsewhere,
  top_k: writtenElsewhere,
  stop: writtenElsewhere,
});

/** Settings for tools. If no tool may be called, only those called in the history are sent, because Bedrock requires them. */
function toolSettings(
  request: TurnRequest,
  family: Family,
  translation: TranslationContext,
  { messages }: Conversation,
  marks: ConverseCacheMarks,
): { tools: readonly Block[]; choice: ConverseToolChoice } {
  const offered = converseTools(translation);
  marks.copyTools(translation.tools.list, offered);
  const called = calledTools(messages);
  const needed = offered.length > 0 ? offered : called;
  if (needed.length === 0) return { tools: [], choice: {} };
  const choosing = offered.length > 0 ? request : { ...request, toolChoice: "none" as const };
  if (choosing.toolChoice === "none" && called.length === 0) return { tools: [], choice: {} };
  return { tools: needed, choice: buildToolChoice(choosing, family, translation) };
}

const forces = (choice: JsonObject | undefined): boolean =>
  choice !== undefined &&
  (choice.any !== undefined || choice.tool !== undefined || /any|tool/.test(String(choice.type)));

const toolList = (tools: readonly Block[]): readonly JsonObject[] =>
  tools.flatMap(({ toolSpec, cache_control: mark }) => [{ toolSpec }, ...(isObject(mark) ? [cachePoint(mark)] : [])]);

function outputFormat(format: TextFormat | undefined, onDropped: OnDropped): JsonObject | undefined {
  if (needsJsonInstruction(format))
    onDropped("text.format", "sent as an instruction: the format only enforces a JSON schema");
  if (format?.type !== "json_schema") return undefined;
  const { name, description } = format;
  const { json: schema } = sendAnswerSchema(format, converseSchemas, onDropped).schema;
  return { type: "json_schema", structure: { jsonSchema: { schema, name, description } } };
}

const tiers: ReadonlySet<string> = new Set(["flex", "priority"]);

function serviceTier(
  { serviceTier: wanted }: TurnRequest,
  { tier }: Target,
  onDropped: OnDropped,
): JsonObject | undefined {
  dropTier(wanted, tier, onDropped);
  if (tier !== "default" && !tiers.has(tier)) onDropped("service_tier", `the format has no tier called ${tier}`);
  return tiers.has(tier) ? { type: tier } : undefined;
}

const unlessEmpty = (fields: JsonObject): JsonObject | undefined =>
  Object.values(fields).some((value) => value !== undefined) ? fields : undefined;

export interface ConverseSamplers {
  readonly inferenceConfig: JsonObject;
  /** Fields for `additionalModelRequestFields`, which the model itself interprets. */
  readonly fields: JsonObject;
}

/** Sampling settings (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InferenceConfiguration.html). */
export function converseSamplers(
  request: TurnRequest,
  family: Family,
  { target, thinks }: SamplingModel,
  onDropped: OnDropped,
): ConverseSamplers {
  if (family === "anthropic") {
    // An inference profile may have any name, so the family counts instead of the name.
    const claude = { target: { upstreamModel: target.upstreamModel, original: true }, thinks };
    const { temperature, top_p: topP, top_k } = samplers(request, claude, onDropped);
    return { inferenceConfig: { temperature, topP }, fields: { top_k } };
  }
  const { temperature, topP, topK } = request;
  if (temperature !== undefined && temperature > 1) onDropped("temperature", "sent as 1, the maximum");
  if (topK !== undefined && family !== "nova") onDropped("top_k", "the model is not known to take it");
  return {
    inferenceConfig: { temperature: temperature === undefined ? undefined : Math.min(1, temperature), topP },
    fields: topK !== undefined && family === "nova" ? { inferenceConfig: { topK } } : {},
  };
}
