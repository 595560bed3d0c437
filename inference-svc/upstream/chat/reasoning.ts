/** How much thought an answer is worth, in the words of chat: an effort, or a budget where the endpoint takes one. */
import type { TurnRequest } from "../../turn/request.ts";
import { type Effort, lastEffort } from "../effort.ts";
import type { JsonObject } from "../json.ts";
import { type Words, supports } from "../words.ts";

/** Outside of the vendor hardly a server knows the levels above high. */
const otherEfforts: Readonly<Record<string, string>> = { xhigh: "high", max: "high" };

export function reasoningSettings(request: TurnRequest, words: Words): JsonObject {
  const { target, lose } = words;
  const { summary, maxTokens, context = "auto", mode = "standard" } = request.reasoning ?? {};
  if (summary !== undefined) lose("reasoning.summary", "the format has no words for it");
  if (context !== "auto") lose("reasoning.context", "the format has no words for it");
  if (mode !== "standard") lose("reasoning.mode", "the format has no words for it");
  const sealed = request.include.indexOf("reasoning.encrypted_content");
  if (sealed !== -1) lose(`include.${sealed}`, "the format has no words for it");
  const effort = lastEffort(request, words);
  if (maxTokens === undefined) return effortSetting(effort, words);
  if (!supports(target, "reasoning.max_tokens")) {
    lose("reasoning.max_tokens", "the endpoint takes no budget");
    return effortSetting(effort, words);
  }
  if (effort) lose(effort.path, "the budget says how much");
  return { reasoning: { max_tokens: maxTokens } };
}

function effortSetting(effort: Effort | undefined, { target, lose }: Words): JsonObject {
  if (!effort) return {};
  const known = target.original ? undefined : otherEfforts[effort.value];
  if (known !== undefined) lose(effort.path, `sent as ${known}`);
  return { reasoning_effort: known ?? effort.value };
}
