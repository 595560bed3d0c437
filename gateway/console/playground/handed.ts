/** Hands a conversation over to the playground in the page's memory: prompts must not be in an address. */
import type { Conversation, Message, MessagePart } from "../requests/conversation.ts";
import type { PlaygroundDraft } from "./request.ts";

let handed: Conversation | undefined;

export const handOver = (conversation: Conversation): void => {
  handed = conversation;
};

/** A draft of the conversation handed over last; each conversation is returned once. */
export function takeHanded(): Partial<PlaygroundDraft> | undefined {
  const conversation = handed;
  handed = undefined;
  return conversation && draftOf(conversation);
}

const textOf = (parts: readonly MessagePart[]): string =>
  parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n\n");

const isPlain = ({ role, parts }: Message): boolean => role === "user" && parts.every(({ kind }) => kind === "text");

function draftOf({ model, messages, tools }: Conversation): Partial<PlaygroundDraft> {
  const instructions = messages.filter(({ role }) => role === "system" || role === "developer");
  const spoken = messages.filter((message) => !instructions.includes(message));
  const last = spoken.at(-1);
  const isLastText = last !== undefined && isPlain(last);
  const earlier = (isLastText ? spoken.slice(0, -1) : spoken).flatMap(itemsOf);
  return {
    model,
    instructions: instructions.map(({ parts }) => textOf(parts)).join("\n\n"),
    input: isLastText ? textOf(last.parts) : "",
    earlier: earlier.length === 0 ? "" : JSON.stringify(earlier, null, 2),
    tools:
      tools.length === 0
        ? ""
        : JSON.stringify(
            tools.map(({ definition }) => definition),
            null,
            2,
          ),
  };
}

/** A message as items of the Responses format. */
const itemsOf = ({ role, parts }: Message): object[] =>
  parts.flatMap((part): object[] => {
    switch (part.kind) {
      case "text":
        return [{ role, content: part.text }];
      case "call":
        return [{ type: "function_call", call_id: part.id, name: part.name, arguments: part.input }];
      case "result":
        return [{ type: "function_call_output", call_id: part.id, output: part.text }];
      case "picture":
        return [{ role, content: [{ type: "input_image", image_url: part.url, detail: "auto" }] }];
      default:
        return [];
    }
  });
