/**
 * Reasoning in chat: an effort or a budget in the request, and reasoning text in the history. Servers of open models
 * use `reasoning_content`, `reasoning` or parts of the content; others use `reasoning_details` with a format and
 * encrypted text. Reasoning is sent back only if `supported_parameters` names its field, and encrypted reasoning only
 * to the model family that encrypted it.
 */
import type { InputItem, Reasoning, TurnRequest } from "../../../turn/request.ts";
import type { OnDropped, Target } from "../dialect.ts";
import { type JsonObject, type ObjectWriter, objects, text } from "../json.ts";
import { dropAddition } from "../translate/additions.ts";
import { type TranslationContext, supportsParameter } from "../translate/context.ts";
import { type ChatVendor, chatVendor } from "./vendors.ts";
import { type ReasoningEffort, lastEffort, namesEfforts } from "../translate/reasoning-effort.ts";

/** Replacements for effort levels above high, which hardly any server other than the vendor's own knows. */
const otherEfforts: Readonly<Record<string, string>> = { xhigh: "high", max: "high" };

export function addChatReasoning(body: ObjectWriter, request: TurnRequest, translation: TranslationContext): void {
  const { target, onDropped } = translation;
  if (request.reasoning) dropReasoningFields(request.reasoning, onDropped);
  // OpenAI returns no reasoning in this format. The reasoning of other servers is plain text, and becomes the item's
  // encrypted content.
  if (target.original) dropAddition(request, "reasoning.encrypted_content", onDropped);
  const effort = lastEffort(request, translation);
  const maxTokens = request.reasoning?.maxTokens;
  if (supportsParameter(target, "thinking.disabled")) {
    const forced = forcesCall(request);
    if (forced) onDropped("reasoning", "the model cannot reason when it must make a call");
    if (forced || effort?.value === "none") return body.add("thinking", { type: "disabled" });
  }
  if (maxTokens === undefined) return effort && addEffort(body, effort, translation);
  if (!supportsParameter(target, "reasoning.max_tokens")) {
    onDropped("reasoning.max_tokens", "the endpoint takes no budget");
    return effort && addEffort(body, effort, translation);
  }
  if (effort) onDropped(effort.path, "reasoning.max_tokens counts instead");
  body.add("reasoning", { max_tokens: maxTokens });
}

/** Whether the model must make a call: DeepSeek and Kimi answer 400 to forced calls while they reason. */
const forcesCall = ({ tools, toolChoice: choice }: TurnRequest): boolean =>
  tools.length > 0 &&
  (choice === "required" || (typeof choice === "object" && (choice.type === "tool" || choice.mode === "required")));

function dropReasoningFields({ summary, context = "auto", mode = "standard" }: Reasoning, onDropped: OnDropped): void {
  if (summary !== undefined) onDropped("reasoning.summary", "the format has no field for it");
  if (context !== "auto") onDropped("reasoning.context", "the format has no field for it");
  if (mode !== "standard") onDropped("reasoning.mode", "the format has no field for it");
}

function addEffort(body: ObjectWriter, effort: ReasoningEffort, { target, onDropped }: TranslationContext): void {
  const known = target.original || namesEfforts(target) ? undefined : otherEfforts[effort.value];
  if (known !== undefined) onDropped(effort.path, `sent as ${known}`);
  body.add("reasoning_effort", known ?? effort.value);
}

/** Matches the reasoning formats of Sluice's API. */
const formats =
  /^(unknown|(azure-|bedrock-)?openai-responses-v1|(bedrock-)?xai-responses-v1|meta-responses-v1|anthropic-claude-v1|google-gemini-v1)$/;

/** Fields of the assistant message for reasoning. @returns undefined if the endpoint does not take such reasoning */
export function buildReasoningFields(item: InputItem, target: Target): JsonObject | undefined {
  const format = text(item.format) || "unknown";
  const sealed = text(item.encrypted_content);
  const texts = objects(item.content).map((part) => text(part.text));
  const thought = texts.join("");
  const takesDetails = takesThought("reasoning_details", target);
  if (format === "unknown" && !(takesDetails && item.format)) {
    return sealed === "" && thought !== "" ? openThought(texts, target) : undefined;
  }
  if (!takesDetails && !supportsParameter(target, `reasoning_details.${format}`)) return undefined;
  const summary = objects(item.summary)
    .map((part) => text(part.text))
    .join("");
  const signature = text(item.signature);
  // An id may be the one of the call to which this signature belongs.
  const named = takesDetails && text(item.id) !== "" ? { format, id: item.id } : { format };
  const details = [
    ...(thought === ""
      ? []
      : [{ type: "reasoning.text", text: thought, ...(signature !== "" && { signature }), ...named }]),
    ...(summary === "" ? [] : [{ type: "reasoning.summary", summary, ...named }]),
    ...(sealed === "" ? [] : [{ type: "reasoning.encrypted", data: sealed, ...named }]),
  ];
  return details.length === 0 ? undefined : { reasoning_details: details };
}

/**
 * Whether reasoning without encryption is sent back in this field: the one of most open models, of Groq or of Mistral.
 * The endpoint's parameters name the field; if they are unknown, the vendor determines it.
 */
export const takesThought = (field: NonNullable<ChatVendor["thought"]>, target: Target): boolean =>
  supportsParameter(target, field) ||
  (target.supportedParameters === undefined && chatVendor(target).thought === field);

/** Reasoning without encryption, as fields of a message. */
function openThought(texts: readonly string[], target: Target): JsonObject | undefined {
  if (takesThought("reasoning_content", target)) return { reasoning_content: texts.join("") };
  if (takesThought("message.reasoning", target) || takesThought("reasoning_details", target))
    return { reasoning: texts.join("") };
  if (!takesThought("message.thinking", target)) return undefined;
  return { content: [{ type: "thinking", thinking: texts.map((each) => ({ type: "text", text: each })) }] };
}

/** The reasoning in one chunk. */
export interface ReasoningDelta {
  readonly text: string;
  readonly summary: string;
  /** The members format, signature and encrypted_content, as far as they are known. */
  readonly seal: JsonObject;
}

/**
 * @param details entries of reasoning_details
 * @param plain the same reasoning as a string, used when the entries contain no text
 * @param sealed whether the client requested encrypted reasoning
 */
export function readReasoningDetails(details: readonly JsonObject[], plain: string, sealed: boolean): ReasoningDelta {
  const joinField = (field: string) => details.map((detail) => text(detail[field])).join("");
  const last = (field: string) => text(details.findLast((detail) => text(detail[field]) !== "")?.[field]);
  const [content, summary] = [joinField("text"), joinField("summary")];
  const [format, signature, encrypted] = [last("format"), last("signature"), sealed ? joinField("data") : ""];
  return {
    text: content === "" && summary === "" ? plain : content,
    summary,
    seal: {
      ...(formats.test(format) && { format }),
      ...(signature !== "" && { signature }),
      ...(encrypted !== "" && { encrypted_content: encrypted }),
    },
  };
}

/** The reasoning in a content part `{type: "thinking", thinking}`, where `thinking` is a text or a list of parts. */
export const readThinkingPart = ({ thinking }: JsonObject): string =>
  text(thinking) ||
  objects(thinking)
    .map((part) => text(part.text))
    .join("");
