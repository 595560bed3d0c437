/** A turn as the body of POST /model/{id}/converse (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html). */
import type { TextFormat, TurnRequest } from "../../turn/request.ts";
import type { Lose, Target } from "../dialect.ts";
import { type JsonObject, isObject, jsonText } from "../json.ts";
import type { Conversation } from "../messages/messages.ts";
import { declareUnsaid } from "../messages/request.ts";
import type { Block } from "../messages/thread.ts";
import { SentTools } from "../tool-names.ts";
import type { Words } from "../words.ts";
import { cachePoint, marksFor } from "./cache-points.ts";
import { type Family, familyOf } from "./family.ts";
import { conversed, say } from "./messages.ts";
import { thoughtSettings } from "./reasoning.ts";
import { drawing } from "./samplers.ts";
import { type Choice, calledTools, choiceOf, converseTools } from "./tools.ts";

/** What a budget of thought is reckoned from where nobody says how long an answer may be. */
const defaultMaxTokens = 4_096;

export function converseBody(request: TurnRequest, target: Target, lose: Lose): string {
  const family = familyOf(target.upstreamModel);
  const words: Words = { target, tools: SentTools.of(request, true), lose };
  const marks = marksFor(target, family, lose);
  const told = conversed(request, family, words, marks);
  const { tools, choice } = toolSettings(request, family, words, told);
  marks.finish(request.cacheControl, tools, told.system, told.messages);
  const limit = request.maxOutputTokens ?? target.maxOutputTokens ?? defaultMaxTokens;
  const forced = [choice.toolChoice, choice.tool_choice].some(forces);
  const thought = thoughtSettings(request, family, words, { limit, forced, messages: told.messages });
  const { thinking } = thought.fields;
  const drawn = drawing(request, family, thinking !== undefined, lose);
  // A budget has to fit into the limit.
  const maxTokens = isObject(thinking) && thinking.type === "enabled" ? limit : request.maxOutputTokens;
  declareUnsaid(request, lose);
  if (request.identityField) lose(request.identityField, "the format has no words for it");
  const { system, messages } = say(told);
  return jsonText({
    system: system.length > 0 ? system : undefined,
    messages,
    inferenceConfig: unlessEmpty({ maxTokens, ...drawn.inferenceConfig }),
    toolConfig: tools.length > 0 ? { tools: toolList(tools), toolChoice: choice.toolChoice } : undefined,
    additionalModelRequestFields: unlessEmpty({
      ...thought.fields,
      ...drawn.fields,
      tool_choice: choice.tool_choice,
    }),
    outputConfig: unlessEmpty({ effort: thought.effort, textFormat: outputFormat(request.textFormat, lose) }),
    serviceTier: serviceTier(target, lose),
  });
}

/** Without tools there is nothing to choose, and no tools are told that must not be called, unless they were. */
function toolSettings(
  request: TurnRequest,
  family: Family,
  words: Words,
  { messages }: Conversation,
): { tools: readonly Block[]; choice: Choice } {
  const offered = converseTools(words);
  const called = calledTools(messages);
  const needed = offered.length > 0 ? offered : called;
  if (needed.length === 0) return { tools: [], choice: {} };
  const asked = offered.length > 0 ? request : { ...request, toolChoice: "none" as const };
  if (asked.toolChoice === "none" && called.length === 0) return { tools: [], choice: {} };
  return { tools: needed, choice: choiceOf(asked, family, words) };
}

const forces = (choice: JsonObject | undefined): boolean =>
  choice !== undefined &&
  (choice.any !== undefined || choice.tool !== undefined || /any|tool/.test(String(choice.type)));

const toolList = (tools: readonly Block[]): readonly JsonObject[] =>
  tools.flatMap(({ toolSpec, cache_control: mark }) => [{ toolSpec }, ...(isObject(mark) ? [cachePoint(mark)] : [])]);

function outputFormat(format: TextFormat | undefined, lose: Lose): JsonObject | undefined {
  if (format?.type === "json_object") lose("text.format", "the format binds an answer to a schema only");
  if (format?.type !== "json_schema") return undefined;
  const { name, description, schemaJson: schema } = format;
  return { type: "json_schema", structure: { jsonSchema: { schema, name, description } } };
}

const tiers: ReadonlySet<string> = new Set(["flex", "priority"]);

function serviceTier({ tier }: Target, lose: Lose): JsonObject | undefined {
  if (tier !== "default" && !tiers.has(tier)) lose("service_tier", `the format has no tier called ${tier}`);
  return tiers.has(tier) ? { type: tier } : undefined;
}

const unlessEmpty = (fields: JsonObject): JsonObject | undefined =>
  Object.values(fields).some((value) => value !== undefined) ? fields : undefined;
