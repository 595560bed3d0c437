/** Facts about an already converted message, for later messages and for the turn. */
import type { ElementNote } from "../../edge/turns/repeated-array.ts";
import type { ChatMessage, ToolCall } from "./message.ts";

interface NotedCall {
  readonly id: string;
  /** Type of its result item. */
  readonly result: string;
}

const noCalls: readonly NotedCall[] = [];
const message: ChatMessage = { role: "user", content: "" };

export class ChatMessageNote implements ElementNote {
  /** Number of its items. */
  items = 0;
  readonly calls: readonly NotedCall[];
  /** Name of the function called in the old form. */
  readonly called: string | undefined;
  /** Name of the function answered, in the old form. */
  readonly answered: string | undefined;
  /** Whether its reasoning is in a form that possibly only its provider can read. */
  readonly isSealed: boolean;
  /** Paths of its unknown fields. */
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
