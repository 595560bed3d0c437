/** Converts the input of a request to the system prompt and messages of Anthropic's Messages API. */
import type { TurnRequest } from "../../../turn/request.ts";
import type { CacheMarks } from "../translate/blocks/cache-marks.ts";
import { toCallId } from "../translate/blocks/call-id.ts";
import { type BlockFormat, type Conversation, translateConversation } from "../translate/blocks/messages.ts";
import { toThinkingBlock } from "../translate/blocks/reasoning.ts";
import { type TranslationContext, supportsParameter } from "../translate/context.ts";
import { toServerBlocks } from "./server-calls.ts";
import { messagesPart } from "./parts.ts";
import { toToolReference } from "./tools.ts";

const format: BlockFormat = {
  part: messagesPart,
  reference: toToolReference,
  callId: toCallId,
  beginsWithUser: false,
  takesFailures: true,
  takesPromptsAmid: (target) => supportsParameter(target, "message.system"),
  thought: toThinkingBlock,
  serverCall: toServerBlocks,
};

export const messagesConversation = (
  request: TurnRequest,
  translation: TranslationContext,
  marks: CacheMarks,
): Conversation => translateConversation(request, translation, marks, format);
