/**
 * How much thought an answer is worth. Models since 4.6 think as they see fit and take an effort; those before take a budget, and are told
 * apart by `reasoning.max_tokens` among the parameters of the endpoint (https://platform.claude.com/docs/en/build-with-claude/thinking).
 */
import type { TurnRequest } from "../../turn/request.ts";
import { type Effort, lastEffort } from "../effort.ts";
import type { JsonObject } from "../json.ts";
import { type Words, supports } from "../words.ts";
import type { Message } from "./thread.ts";

const leastBudget = 1_024;
const mostBudget = 128_000;

/** Shares of the answer that an effort stands for. */
const shares: Readonly<Record<string, number>> = {
  max: 0.95,
  xhigh: 0.95,
  high: 0.8,
  medium: 0.5,
  low: 0.2,
  minimal: 0.1,
};

export interface Around {
  /** max_tokens of the body. */
  readonly limit: number;
  /** A call must be made. */
  readonly forced: boolean;
  readonly messages: readonly Message[];
}

export interface Thinking {
  /** Absent when the model is left to itself. */
  readonly thinking?: JsonObject;
  readonly effort?: string;
}

export function thinkingSettings(request: TurnRequest, words: Words, around: Around): Thinking {
  const { summary, maxTokens, context = "auto", mode = "standard" } = request.reasoning ?? {};
  const { target, lose } = words;
  if (context !== "auto") lose("reasoning.context", "the format has no words for it");
  if (mode !== "standard") lose("reasoning.mode", "the format has no words for it");
  const effort = lastEffort(request, words);
  const asked: Asked = { effort, maxTokens, summary };
  if (effort?.value === "none") return unthinking(effort, words);
  if (effort === undefined && maxTokens === undefined && summary === undefined) return {};
  return supports(target, "reasoning.max_tokens") ? budgeted(asked, words, around) : adaptive(asked, words, around);
}

interface Asked {
  readonly effort: Effort | undefined;
  readonly maxTokens: number | undefined;
  readonly summary: string | undefined;
}

/** Which of the two a model takes differs from model to model, and many cannot be stopped. */
function unthinking(effort: Effort, { target, lose }: Words): Thinking {
  if (supports(target, "reasoning.max_tokens")) return {};
  const type = ["disabled", "between_tools"].find((form) => supports(target, `thinking.${form}`));
  if (type !== undefined) return { thinking: { type } };
  lose(effort.path, "sent as low: the model thinks as it sees fit");
  return { effort: "low" };
}

function adaptive({ effort, maxTokens, summary }: Asked, { lose }: Words, { forced }: Around): Thinking {
  if (maxTokens !== undefined) lose("reasoning.max_tokens", "the endpoint takes no budget");
  const least = effort?.value === "minimal";
  if (least) lose(effort.path, "sent as low");
  const level = least ? "low" : effort?.value;
  if (forced) lose("reasoning", "a call that must be made comes without thought");
  return {
    ...(level !== undefined && { effort: level }),
    ...(!forced && { thinking: { type: "adaptive", ...display(summary, lose) } }),
  };
}

function budgeted(asked: Asked, { lose }: Words, { limit, forced, messages }: Around): Thinking {
  const { effort, maxTokens, summary } = asked;
  if (effort === undefined && maxTokens === undefined) {
    lose("reasoning.summary", "the model does not think unless it is asked to");
    return {};
  }
  if (effort && maxTokens !== undefined) lose(effort.path, "the budget says how much");
  const path = maxTokens === undefined ? (effort?.path ?? "reasoning") : "reasoning.max_tokens";
  const reason = unable(limit, forced, messages);
  if (reason !== undefined) {
    lose(path, reason);
    return {};
  }
  const wanted = maxTokens ?? Math.floor(limit * (shares[effort?.value ?? "medium"] ?? 0.5));
  const budget = Math.min(limit - 1, mostBudget, Math.max(leastBudget, wanted));
  if (maxTokens !== undefined && budget !== maxTokens) lose(path, `sent as ${budget}: it has to fit into the answer`);
  return { thinking: { type: "enabled", budget_tokens: budget, ...display(summary, lose) } };
}

/** Why such a model cannot think now. */
function unable(limit: number, forced: boolean, messages: readonly Message[]): string | undefined {
  if (forced) return "a call that must be made comes without thought";
  if (limit <= leastBudget) return "max_output_tokens leaves no room for thought";
  const answered = messages.at(-1)?.content.some(({ type }) => type === "tool_result");
  const began = messages.at(-2)?.content[0]?.type ?? "";
  // The vendor answers 400 to a thinking model whose last call comes without its thought.
  const without = answered === true && !began.endsWith("thinking");
  return without ? "the call that is answered came without thought" : undefined;
}

/** Newer models show nothing of their thought unless they are asked to. */
function display(summary: string | undefined, lose: Words["lose"]): JsonObject {
  if (summary === undefined) return {};
  if (summary !== "auto") lose("reasoning.summary", "there is one kind of summary only");
  return { display: "summarized" };
}
