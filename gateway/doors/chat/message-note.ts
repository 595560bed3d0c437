/** Facts about a converted message that are needed when a later request contains the same message, and for its turn. */
import type { ElementNote } from "../../edge/turns/repeated-array.ts";
import type { ChatMessage, ToolCall } from "./message.ts";

interface NotedCall {
  readonly id: string;
  /** Type of the item for the call's result. */
  readonly result: string;
}

const noCalls: readonly NotedCall[] = [];
const message: ChatMessage = { role: "user", content: "" };

export class ChatMessageNote implements ElementNote {
  /** Number of items made from the message. */
  items = 0;
  readonly calls: readonly NotedCall[];
  /** Name of the called function, for a call in the form of the deprecated `functions`. */
  readonly called: string | undefined;
  /** Name of the function whose result the message is, in the form of the deprecated `functions`. */
  readonly answered: string | undefined;
  /** Whether the message contains reasoning in a form that may be readable only by its provider. */
  readonly isSealed: boolean;
  /** Paths of unknown fields in the message. */
  ignored: readonly string[] = [];

  constructor({ role, name, tool_calls: calls, function_call: call, reasoning_details: details }: ChatMessage) {
    const isAnswer = role === "assistant";
    this.calls = isAnswer && calls ? calls.map(noteCall) : noCalls;
    this.called = isAnswer ? call?.name : undefined;
    this.answered = role === "function" ? (name ?? undefined) : undefined;
    this.isSealed = Boolean(details);
  }

  get standIn(): ChatMessage {
    return message;
  }

  get size(): number {
    return this.calls.length + this.ignored.length;
  }
}

const noteCall = ({ id, custom }: ToolCall): NotedCall => ({
  id,
  result: custom ? "custom_tool_call_output" : "function_call_output",
});
