/**
 * How much thought an answer is worth: a budget for models of 2.5, a level for those after them
 * (https://ai.google.dev/gemini-api/docs/generate-content/thinking). What the models tell of their thought is a summary.
 */
import type { TurnRequest } from "../../turn/request.ts";
import { type Effort, lastEffort } from "../effort.ts";
import type { JsonObject } from "../json.ts";
import { type Words, supports } from "../words.ts";
import { takesBudget } from "./model.ts";

export function thinkingConfig(request: TurnRequest, words: Words): JsonObject | undefined {
  const { summary, maxTokens, context = "auto", mode = "standard" } = request.reasoning ?? {};
  const { target, lose } = words;
  if (context !== "auto") lose("reasoning.context", "the format has no words for it");
  if (mode !== "standard") lose("reasoning.mode", "the format has no words for it");
  const effort = lastEffort(request, words);
  if (effort === undefined && maxTokens === undefined && summary === undefined) return undefined;
  if (summary !== undefined && summary !== "auto") lose("reasoning.summary", "there is one kind of summary only");
  const amount = takesBudget(target) ? budget(effort, maxTokens, words) : level(effort, maxTokens, words);
  return effort?.value === "none" ? amount : { ...amount, includeThoughts: true };
}

const levels: Readonly<Record<string, string>> = {
  low: "LOW",
  medium: "MEDIUM",
  high: "HIGH",
  xhigh: "HIGH",
  max: "HIGH",
};

function level(effort: Effort | undefined, maxTokens: number | undefined, { target, lose }: Words): JsonObject {
  if (maxTokens !== undefined) lose("reasoning.max_tokens", "the endpoint takes no budget");
  if (!effort) return {};
  // Which of the models know the least level changes from one to the next, and none can be stopped.
  const least = supports(target, "thinking.minimal") ? "MINIMAL" : "LOW";
  const thinkingLevel = levels[effort.value] ?? least;
  if (thinkingLevel.toLowerCase() !== effort.value) lose(effort.path, `sent as ${thinkingLevel.toLowerCase()}`);
  return { thinkingLevel };
}

/** What the vendor itself makes of efforts (https://ai.google.dev/gemini-api/docs/openai#thinking). */
const budgets: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 1_024,
  low: 1_024,
  medium: 8_192,
  high: 24_576,
  xhigh: 24_576,
  max: 24_576,
};

interface Bounds {
  readonly least: number;
  readonly most: number;
  /** Whether the model can be kept from thinking. */
  readonly stops: boolean;
}

function boundsOf(model: string): Bounds {
  if (model.includes("-pro")) return { least: 128, most: 32_768, stops: false };
  return { least: model.includes("-lite") ? 512 : 1, most: 24_576, stops: true };
}

function budget(effort: Effort | undefined, maxTokens: number | undefined, { target, lose }: Words): JsonObject {
  const wanted = maxTokens ?? budgets[effort?.value ?? ""];
  if (wanted === undefined) return {};
  const { least, most, stops } = boundsOf(target.upstreamModel);
  const thinkingBudget = wanted === 0 && stops ? 0 : Math.min(most, Math.max(least, wanted));
  if (effort && maxTokens !== undefined) lose(effort.path, "the budget says how much");
  else if (effort?.value === "xhigh" || effort?.value === "max") lose(effort.path, "sent as high");
  if (thinkingBudget !== wanted) {
    const path = maxTokens === undefined ? (effort?.path ?? "reasoning") : "reasoning.max_tokens";
    lose(path, `sent as a budget of ${thinkingBudget}: the model takes ${least} to ${most}`);
  }
  return { thinkingBudget };
}
