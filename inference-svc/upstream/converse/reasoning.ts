/** How much thought an answer is worth: each family is told in its own words. */
import type { TurnRequest } from "../../turn/request.ts";
import { lastEffort } from "../effort.ts";
import type { JsonObject } from "../json.ts";
import { type Around, thinkingSettings } from "../messages/reasoning.ts";
import type { Words } from "../words.ts";
import type { Family } from "./family.ts";

export interface Thought {
  /** Of the model. */
  readonly fields: JsonObject;
  /** Of the format. */
  readonly effort?: string;
}

export function thoughtSettings(request: TurnRequest, family: Family, words: Words, around: Around): Thought {
  if (family === "anthropic") {
    const { thinking, effort } = thinkingSettings(request, words, around);
    return { fields: { ...(thinking && { thinking }) }, ...(effort !== undefined && { effort }) };
  }
  const { summary, maxTokens, context = "auto", mode = "standard" } = request.reasoning ?? {};
  const unsaid = {
    summary,
    max_tokens: maxTokens,
    context: context === "auto" ? undefined : context,
    mode: mode === "standard" ? undefined : mode,
  };
  for (const [name, value] of Object.entries(unsaid)) {
    if (value !== undefined) words.lose(`reasoning.${name}`, "the format has no words for it");
  }
  return { fields: effortFields(request, family, words) };
}

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-openai.html, https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html */
function effortFields(request: TurnRequest, family: Family, words: Words): JsonObject {
  const effort = lastEffort(request, words);
  if (effort === undefined) return {};
  if (family === "openai") return { reasoning_effort: effort.value };
  if (!/nova-2-/.test(words.target.upstreamModel)) {
    words.lose(effort.path, "the model is not known to take it");
    return {};
  }
  if (effort.value === "none") return { reasoningConfig: { type: "disabled" } };
  const level = novaLevel(effort.value, request);
  if (level !== effort.value) words.lose(effort.path, `sent as ${level}`);
  return { reasoningConfig: { type: "enabled", maxReasoningEffort: level } };
}

/** The highest is a 400 beside a limit or a sampler, which bind where an effort advises. */
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
