/**
 * Converts the input of a request to Converse messages. They are first built as blocks like those of Anthropic's
 * Messages API; cache marks become separate blocks.
 */
import { createHash } from "node:crypto";
import type { TurnRequest } from "../../../turn/request.ts";
import type { Target } from "../dialect.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { toThinkingBlock } from "../translate/blocks/reasoning.ts";
import { toCallId } from "../translate/blocks/call-id.ts";
import type { Block } from "../translate/blocks/message-list.ts";
import { type Conversation, translateConversation } from "../translate/blocks/messages.ts";
import type { TranslationContext } from "../translate/context.ts";
import { toMistralId } from "../translate/mistral-ids.ts";
import { plainForm } from "../translate/names/name-rules.ts";
import { SentTools } from "../translate/names/tool-names.ts";
import { type ConverseCacheMarks, cachePoint, openCacheMarks } from "./cache-marks.ts";
import { DocumentNames } from "./documents.ts";
import { type Family, findFamily } from "./family.ts";
import { conversePart } from "./parts.ts";

/** Content of an empty tool output: not every model takes an empty list, and Bedrock answers 400 to a blank text. */
const nothing = { text: "(no output)" };

/** Builds the conversation. Encrypted reasoning is sent back to Claude, and to no other family. */
export function buildConversation(
  request: TurnRequest,
  family: Family,
  translation: TranslationContext,
  marks: ConverseCacheMarks,
): Conversation {
  return translateConversation(request, translation, marks, {
    part: conversePart,
    beginsWithUser: true,
    takesFailures: family === "anthropic" || family === "nova",
    callId: (callId) => toToolUseId(callId, family),
    thought: (item) => (family === "anthropic" ? toThinkingBlock(item) : undefined),
  });
}

/** Builds the conversation without reporting dropped fields. */
export function previewConversation(request: TurnRequest, target: Target): Conversation {
  const family = findFamily(target.upstreamModel);
  const onDropped = () => undefined;
  const translation: TranslationContext = { target, tools: SentTools.of(request, plainForm), onDropped };
  return buildConversation(request, family, translation, openCacheMarks(target, family, onDropped));
}

export interface ConverseMessages {
  readonly system: readonly JsonObject[];
  readonly messages: readonly JsonObject[];
}

export function toConverseMessages({ system, messages }: Conversation): ConverseMessages {
  const names = new DocumentNames();
  const blocks = (content: readonly Block[]) =>
    content.flatMap((block) => {
      const { cache_control: mark } = block;
      return [blockOf(block, names), ...(isObject(mark) ? [cachePoint(mark)] : [])];
    });
  return {
    system: blocks(system),
    messages: messages.map(({ role, content }) => ({ role, content: blocks(content) })),
  };
}

const innerOf = ({ type, content }: Block): readonly Block[] =>
  type === "tool_result" && Array.isArray(content) ? (content as readonly Block[]) : [];

function blockOf(block: Block, names: DocumentNames): JsonObject {
  switch (block.type) {
    case "image":
      return { image: block.image };
    case "video":
      return { video: block.video };
    case "tool_use":
      return { toolUse: { toolUseId: block.id, name: block.name, input: block.input } };
    case "tool_result": {
      const content = innerOf(block).map((inner) => blockOf(inner, names));
      const status = block.is_error === true ? { status: "error" } : {};
      return {
        toolResult: { toolUseId: block.tool_use_id, content: content.length > 0 ? content : [nothing], ...status },
      };
    }
    case "thinking":
      return { reasoningContent: { reasoningText: { text: block.thinking, signature: block.signature } } };
    case "redacted_thinking":
      return { reasoningContent: { redactedContent: block.data } };
    default:
      return isObject(block.document) ? { document: names.makeUnique(block.document) } : { text: text(block.text) };
  }
}

const maxIdLength = 64;
/**
 * Makes an id for a call Bedrock allows: 1 to 64 letters, digits, _ and -
 * (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ToolUseBlock.html). Different ids stay
 * different, even if they differ only in characters that are not allowed.
 */
export function toToolUseId(callId: unknown, family: Family): string {
  if (family === "mistral") return toMistralId(callId);
  const id = toCallId(callId);
  return id.length <= maxIdLength ? id : hashOf(id);
}

const hashOf = (id: string): string => createHash("sha256").update(id).digest("hex");
