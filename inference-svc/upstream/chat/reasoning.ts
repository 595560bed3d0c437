/** How much thought an answer is worth, in the words of chat: an effort, or a budget where the endpoint takes one. */
import type { TurnRequest } from "../../turn/request.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { type Words, supports } from "./words.ts";

/** Outside of the vendor hardly a server knows the levels above high. */
const otherEfforts: Readonly<Record<string, string>> = { xhigh: "high", max: "high" };

export function reasoningSettings(request: TurnRequest, words: Words): JsonObject {
  const { target, lose } = words;
  const { summary, maxTokens, context = "auto", mode = "standard" } = request.reasoning ?? {};
  if (summary !== undefined) lose("reasoning.summary", "chat has no words for it");
  if (context !== "auto") lose("reasoning.context", "chat has no words for it");
  if (mode !== "standard") lose("reasoning.mode", "chat has no words for it");
  const sealed = request.include.indexOf("reasoning.encrypted_content");
  if (sealed !== -1) lose(`include.${sealed}`, "chat has no words for it");
  const effort = lastEffort(request, words);
  if (maxTokens === undefined) return effortSetting(effort, words);
  if (!supports(target, "reasoning.max_tokens")) {
    lose("reasoning.max_tokens", "the endpoint takes no budget");
    return effortSetting(effort, words);
  }
  if (effort) lose(effort.path, "the budget says how much");
  return { reasoning: { max_tokens: maxTokens } };
}

interface Effort {
  readonly value: string;
  readonly path: string;
}

/** What was changed on the way counts from there on: for the answer that comes now it is the last change. */
function lastEffort(request: TurnRequest, { target, lose }: Words): Effort | undefined {
  const asked = request.reasoning?.effort;
  let effort: Effort | undefined = asked === undefined ? undefined : { value: asked, path: "reasoning.effort" };
  for (const [index, { type, reasoning }] of request.input.entries()) {
    if (type !== "configuration_update" || !isObject(reasoning)) continue;
    const path = `input.${index}`;
    if (target.supportedParameters && !supports(target, "reasoning")) lose(path, "the endpoint does not support it");
    else effort = { value: text(reasoning.effort), path: `${path}.reasoning.effort` };
  }
  return effort;
}

function effortSetting(effort: Effort | undefined, { target, lose }: Words): JsonObject {
  if (!effort) return {};
  const known = target.original ? undefined : otherEfforts[effort.value];
  if (known !== undefined) lose(effort.path, `sent as ${known}`);
  return { reasoning_effort: known ?? effort.value };
}
