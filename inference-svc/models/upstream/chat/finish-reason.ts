/** Reads the finish reasons of all vendors. Reasons not listed here are normal ends, such as eos_token, tool_calls and end_turn. */
import type { Outcome } from "../../../turn/turn.ts";
import { providerFault } from "../failure.ts";

const limits: ReadonlySet<string> = new Set(["length", "max_tokens", "max_output_tokens"]);

/** Reasons with which Mistral and GLM report a full context window. */
const windows: ReadonlySet<string> = new Set(["model_length", "model_context_window_exceeded"]);

/** Matches reasons for filtered content. Google's reasons come through its compatible endpoint: SAFETY, or "content_filter: RECITATION". */
const filtered =
  /^(content_filter\b|sensitive$|safety$|recitation$|blocklist$|prohibited_content$|spii$|image_(safety|prohibited_content|recitation)$)/;

/**
 * Matches reasons with which the server itself broke off: vLLM and SGLang (abort), GLM (network_error), DeepSeek
 * (insufficient_system_resource), and Google for a call it could not parse (function_call_filter:
 * MALFORMED_FUNCTION_CALL).
 */
const broken =
  /^(error|abort|aborted|cancell?ed|network_error|insufficient_system_resource|malformed_(function_call|response)|function_call_filter\b.*)$/;

const fullWindow = { reason: "max_output_tokens", detail: "model_context_window_exceeded" } as const;
const cutAnswer = { reason: "max_output_tokens" } as const;
const filteredAnswer = { reason: "content_filter" } as const;
const completeAnswer = {};

/**
 * @returns why the answer is incomplete; nothing for a complete answer
 * @throws Fault for a reason that means a failure
 */
export function readFinishReason(finishReason: string): Pick<Outcome, "reason" | "detail"> {
  const reason = finishReason.toLowerCase();
  if (broken.test(reason))
    throw providerFault({ status: reason.startsWith("insufficient") ? 529 : 500, code: reason.split(":", 1)[0] ?? "" });
  if (filtered.test(reason)) return filteredAnswer;
  if (windows.has(reason)) return fullWindow;
  return limits.has(reason) ? cutAnswer : completeAnswer;
}
