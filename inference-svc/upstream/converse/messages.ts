/** A conversation in the words of the format: what stands in blocks is told as for Messages, and a mark of the cache is a block of its own. */
import type { TurnRequest } from "../../turn/request.ts";
import type { Target } from "../dialect.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { type Conversation, conversation } from "../messages/messages.ts";
import { thoughtBlock } from "../messages/thoughts.ts";
import type { Block } from "../messages/thread.ts";
import { SentTools } from "../tool-names.ts";
import type { Words } from "../words.ts";
import { type Marks, cachePoint, marksFor } from "./cache-points.ts";
import { toolUseIdOf } from "./call-id.ts";
import { Names } from "./documents.ts";
import { type Family, familyOf } from "./family.ts";
import { conversePart } from "./parts.ts";

/** An empty list is nothing that every model takes, and a blank text is a 400. */
const nothing = { text: "(no output)" };

/** Of thought that is sealed only Claude takes any back. */
export function conversed(request: TurnRequest, family: Family, words: Words, marks: Marks): Conversation {
  return conversation(request, words, marks, {
    part: conversePart,
    callId: (callId) => toolUseIdOf(callId, family),
    thought: (item) => (family === "anthropic" ? thoughtBlock(item) : undefined),
  });
}

/** The conversation alone, without noting what is left unsaid. */
export function told(request: TurnRequest, target: Target): Conversation {
  const family = familyOf(target.upstreamModel);
  const lose = () => undefined;
  const words: Words = { target, tools: SentTools.of(request, true), lose };
  return conversed(request, family, words, marksFor(target, family, lose));
}

export interface Said {
  readonly system: readonly JsonObject[];
  readonly messages: readonly JsonObject[];
}

export function say({ system, messages }: Conversation): Said {
  const names = new Names();
  const blocks = (content: readonly Block[]) =>
    content.flatMap((block) => {
      const mark = markOf(block);
      return [blockOf(block, names), ...(mark ? [cachePoint(mark)] : [])];
    });
  return {
    system: blocks(system),
    messages: messages.map(({ role, content }) => ({ role, content: blocks(content) })),
  };
}

/** What a tool gave holds no marks: those of its parts stand behind all of it. */
function markOf(block: Block): JsonObject | undefined {
  const marks = [...innerOf(block), block].map(({ cache_control: mark }) => mark);
  return marks.findLast(isObject);
}

const innerOf = ({ type, content }: Block): readonly Block[] =>
  type === "tool_result" && Array.isArray(content) ? (content as readonly Block[]) : [];

function blockOf(block: Block, names: Names): JsonObject {
  switch (block.type) {
    case "image":
      return { image: block.image };
    case "tool_use":
      return { toolUse: { toolUseId: block.id, name: block.name, input: block.input } };
    case "tool_result": {
      const content = innerOf(block).map((inner) => blockOf(inner, names));
      return { toolResult: { toolUseId: block.tool_use_id, content: content.length > 0 ? content : [nothing] } };
    }
    case "thinking":
      return { reasoningContent: { reasoningText: { text: block.thinking, signature: block.signature } } };
    case "redacted_thinking":
      return { reasoningContent: { redactedContent: block.data } };
    default:
      return isObject(block.document) ? { document: names.apart(block.document) } : { text: text(block.text) };
  }
}
