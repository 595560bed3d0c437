/** Reasoning settings on Bedrock, which differ by model family. */
import type { TurnRequest } from "../../../turn/request.ts";
import { lastEffort } from "../translate/reasoning-effort.ts";
import type { JsonObject } from "../json.ts";
import { type ReasoningLimits, thinkingSettings } from "../translate/blocks/reasoning.ts";
import type { TranslationContext } from "../translate/context.ts";
import type { Family } from "./family.ts";

export interface ReasoningSettings {
  /** Fields for `additionalModelRequestFields`, which the model itself interprets. */
  readonly fields: JsonObject;
  /** Converse's own effort parameter, in `outputConfig`. */
  readonly effort?: string;
}

export function converseReasoning(
  request: TurnRequest,
  family: Family,
  translation: TranslationContext,
  around: ReasoningLimits,
): ReasoningSettings {
  if (family === "anthropic") {
    const { thinking, effort } = thinkingSettings(request, translation, around);
    return { fields: { ...(thinking && { thinking }) }, ...(effort !== undefined && { effort }) };
  }
  const { summary, maxTokens, context = "auto", mode = "standard" } = request.reasoning ?? {};
  const unsupported = {
    summary,
    max_tokens: maxTokens,
    context: context === "auto" ? undefined : context,
    mode: mode === "standard" ? undefined : mode,
  };
  for (const [name, value] of Object.entries(unsupported)) {
    if (value !== undefined) translation.onDropped(`reasoning.${name}`, "the format has no field for it");
  }
  return { fields: effortFields(request, family, translation) };
}

/**
 * Fields for the effort of OpenAI's models
 * (https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html) and of Nova
 * (https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html).
 */
function effortFields(request: TurnRequest, family: Family, translation: TranslationContext): JsonObject {
  const effort = lastEffort(request, translation);
  if (effort === undefined) return {};
  if (family === "openai") return { reasoning_effort: effort.value };
  if (!/nova-2-/.test(translation.target.upstreamModel)) {
    translation.onDropped(effort.path, "the model is not known to take it");
    return {};
  }
  if (effort.value === "none") return { reasoningConfig: { type: "disabled" } };
  const level = novaLevel(effort.value, request);
  if (level !== effort.value) translation.onDropped(effort.path, `sent as ${level}`);
  return { reasoningConfig: { type: "enabled", maxReasoningEffort: level } };
}

/** The effort for Nova, which answers 400 to high together with an output limit or a sampling parameter: the effort is then lowered. */
function novaLevel(effort: string, { maxOutputTokens, temperature, topP, topK }: TurnRequest): string {
  const level = levels[effort] ?? "medium";
  const bound = [maxOutputTokens, temperature, topP, topK].some((value) => value !== undefined);
  return level === "high" && bound ? "medium" : level;
}

const levels: Readonly<Record<string, string>> = {
  minimal: "low",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
};
