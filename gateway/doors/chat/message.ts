/** Types of messages after the check of their shape. */
import type { JsonObject } from "@sluice/proto/lib/validation/fields.js";

export interface ContentPart extends JsonObject {
  readonly type: string;
  readonly cache_control?: unknown;
  readonly prompt_cache_breakpoint?: unknown;
}

export type Content = string | readonly ContentPart[];

export interface CalledFunction {
  readonly name: string;
  readonly arguments: string;
}

export interface ToolCall {
  readonly id: string;
  readonly function?: CalledFunction;
  readonly custom?: { readonly name: string; readonly input: string };
}

/** An entry of `reasoning_details`. */
export interface ReasoningDetail {
  readonly type: string;
  readonly text?: string | null;
  readonly summary?: string | null;
  readonly data?: string | null;
  readonly signature?: string | null;
  readonly id?: string | null;
  readonly format?: string | null;
  readonly index?: number | null;
}

export interface AnswerImage {
  readonly image_url: { readonly url: string };
}

/** A message of any role. */
export interface ChatMessage {
  readonly role: string;
  readonly content?: Content | null;
  readonly name?: string | null;
  readonly refusal?: string | null;
  readonly tool_calls?: readonly ToolCall[] | null;
  readonly function_call?: CalledFunction | null;
  readonly tool_call_id?: string;
  readonly reasoning?: string | null;
  readonly reasoning_content?: string | null;
  readonly reasoning_details?: readonly ReasoningDetail[] | null;
  readonly images?: readonly AnswerImage[] | null;
  readonly annotations?: unknown;
  readonly cache_control?: unknown;
}
