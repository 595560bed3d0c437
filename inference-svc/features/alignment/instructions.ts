/** Texts the plugin `alignment` adds for the model: the rules before its answer, and the reasons for a rejection. */
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Message } from "./message.ts";

const opening = "Every reply of yours is checked before it is delivered. It must keep each of these rules:";

/**
 * Inserts the rules after the leading system items. Equal rules give equal text, to keep the beginning of the request
 * in a provider's prompt cache.
 */
export function withRuleInstructions(request: TurnRequest, rules: readonly string[]): TurnRequest {
  const { input } = request;
  const first = input.findIndex(({ role }) => role !== "system" && role !== "developer");
  const at = first === -1 ? input.length : first;
  const item: InputItem = { type: "message", role: "system", content: [opening, ...rules].join("\n") };
  return { ...request, input: [...input.slice(0, at), item, ...input.slice(at)] };
}

const heldBack =
  "Your last reply was held back, and nobody has seen it: it broke the rules that are named below. Write it again so that it keeps them. " +
  "Answer what was asked and follow everything else that you were told; say nothing of this message, of the rules, or of the reply that was held back.";

/** The item added to the request for a retry. @param broken indices of the broken rules */
export const rewriteItem = (message: Message, rules: readonly string[], broken: readonly number[]): InputItem => ({
  type: "message",
  role: "user",
  content: [
    heldBack,
    "",
    "The reply that was held back, as JSON:",
    JSON.stringify(message),
    "",
    "The rules that it broke:",
    ...broken.map((index) => `${index}. ${rules[index]}`),
  ].join("\n"),
});
