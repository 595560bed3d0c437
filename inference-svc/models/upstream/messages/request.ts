/** Converts a turn to the body of POST /messages. */
import type { TextFormat, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { type JsonObject, ObjectWriter, Verbatim, jsonText, objects, text } from "../json.ts";
import { dropTier } from "../translate/sent-tier.ts";
import { messagesSchemas } from "../translate/schemas/rules.ts";
import { sendAnswerSchema } from "../translate/schemas/sent-schema.ts";
import { anthropicForm, plainForm } from "../translate/names/name-rules.ts";
import { SentTools } from "../translate/names/tool-names.ts";
import { type TranslationContext, supportsParameter } from "../translate/context.ts";
import { CacheMarks } from "../translate/blocks/cache-marks.ts";
import { needsJsonInstruction } from "../translate/blocks/messages.ts";
import { samplers } from "../translate/blocks/samplers.ts";
import { thinkingSettings } from "../translate/blocks/reasoning.ts";
import { toolChoice } from "../translate/blocks/tools.ts";
import { dropUnsupported } from "../translate/blocks/unsupported.ts";
import { messagesConversation } from "./messages.ts";
import { FormatParameters, writtenElsewhere } from "../translate/parameters.ts";
import { takesBetas } from "./betas.ts";
import { namedContainer } from "./native-tools.ts";
import { messagesTools } from "./tools.ts";

/** Output tokens when a request sets no limit. The format requires `max_tokens`, and every model of the family can write this much. */
const defaultMaxTokens = 4_096;

/** The first field of a body: the model, or the version of the format. */
type Address = readonly [field: string, value: string];

/** @param address the version of the format, if the path already names the model; otherwise the model */
export function messagesBody(
  request: TurnRequest,
  target: Target,
  onDropped: OnDropped,
  address: Address = ["model", target.upstreamModel],
): string {
  const translation: TranslationContext = {
    target,
    tools: SentTools.of(request, target.original ? anthropicForm : plainForm),
    onDropped,
  };
  const marks = new CacheMarks(onDropped);
  const tools = messagesTools(request, translation, marks);
  const { system, messages } = messagesConversation(request, translation, marks);
  marks.finish(request.cacheControl, [...tools], system, messages);
  const limit = request.maxOutputTokens ?? target.maxOutputTokens ?? defaultMaxTokens;
  const choice = tools.length > 0 ? toolChoice(request, translation) : undefined;
  const forced = choice?.type === "any" || choice?.type === "tool";
  const around = { limit, forced, adaptsWhenForced: true, messages };
  const { thinking, effort } = thinkingSettings(request, translation, around);
  const format = outputFormat(request.textFormat, onDropped);
  dropUnsupported(request, onDropped, ["anthropic_betas", "context_management"]);
  const body = new ObjectWriter();
  body.add(...address);
  body.add("max_tokens", limit);
  body.add("stream", request.stream);
  if (system.length > 0) body.add("system", system);
  body.addJson("messages", jsonText(messages));
  if (tools.length > 0) body.addJson("tools", jsonText(tools));
  if (tools.length > 0) body.add("tool_choice", choice);
  body.add("container", namedContainer(request));
  body.add("thinking", thinking);
  if (effort !== undefined || format) body.addJson("output_config", jsonText({ effort, format }));
  const {
    temperature,
    top_p: topP,
    top_k: topK,
  } = samplers(request, { target, thinks: thinking !== undefined && thinking.type !== "disabled" }, onDropped);
  body.add("temperature", temperature);
  body.add("top_p", topP);
  body.add("top_k", topK);
  parameters.write(request, target, onDropped, body);
  body.add("context_management", contextManagement(request, target, onDropped));
  if (request.identityHash !== undefined) body.add("metadata", { user_id: request.identityHash });
  body.add("service_tier", serviceTier(request, target, onDropped));
  return body.end();
}

const parameters = new FormatParameters({
  max_output_tokens: writtenElsewhere,
  temperature: writtenElsewhere,
  top_p: writtenElsewhere,
  top_k: writtenElsewhere,
  stop: {
    name: "stop_sequences",
    // Anthropic answers 400 to a stop sequence of only white space.
    fit: (stop, { path, onDropped }) => {
      const kept = stop.filter((each) => each.trim() !== "");
      if (kept.length !== stop.length) onDropped(path, "the provider takes no text of white space alone");
      return kept.length === 0 ? undefined : kept;
    },
  },
});

function contextManagement(
  { contextManagementJson: json, anthropicBetas }: TurnRequest,
  target: Target,
  onDropped: OnDropped,
): Verbatim | undefined {
  if (anthropicBetas && !takesBetas(target, "anthropic_betas"))
    onDropped("anthropic_betas", "the endpoint is not known to take them");
  if (json === undefined) return undefined;
  if (json.startsWith("{") && takesBetas(target, "context_management")) return editsOf(json, onDropped);
  onDropped("context_management", "the endpoint is not known to take it in this form");
  return undefined;
}

/**
 * Settings for context edits. Summaries by the provider are left out: one would replace the answer or earlier parts of
 * the conversation, and no format has a block for it.
 */
function editsOf(json: string, onDropped: OnDropped): Verbatim | undefined {
  const settings = JSON.parse(json) as JsonObject;
  const edits = [...objects(settings.edits)];
  const kept = edits.filter(({ type }, index) => {
    if (!text(type).startsWith("compact_")) return true;
    onDropped(`context_management.edits.${index}`, "summaries by the provider cannot be given to clients");
    return false;
  });
  if (kept.length === edits.length) return new Verbatim(json);
  return kept.length === 0 ? undefined : new Verbatim(jsonText({ ...settings, edits: kept }));
}

function outputFormat(format: TextFormat | undefined, onDropped: OnDropped): JsonObject | undefined {
  if (needsJsonInstruction(format))
    onDropped("text.format", "sent as an instruction: the format only enforces a JSON schema");
  if (format?.type !== "json_schema") return undefined;
  if (format.description !== undefined) onDropped("text.format.description", "the format has no field for it");
  return { type: "json_schema", schema: sendAnswerSchema(format, messagesSchemas, onDropped).schema };
}

/**
 * Value of `service_tier`. Priority is capacity the operator has contracted, which "auto" uses. Anthropic assumes
 * "auto" when the field is absent; most other servers have one tier and no such field.
 */
function serviceTier({ serviceTier: wanted }: TurnRequest, target: Target, onDropped: OnDropped): string | undefined {
  const { tier } = target;
  if (wanted === "default" && tier === "default")
    return target.original || supportsParameter(target, "service_tier") ? "standard_only" : undefined;
  dropTier(wanted, tier, onDropped);
  if (tier !== "default" && tier !== "priority") onDropped("service_tier", `the format has no tier called ${tier}`);
  return tier === "priority" ? "auto" : undefined;
}
