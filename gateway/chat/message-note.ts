/** Facts that later messages, and the turn, need of a message whose items are written already. */
import type { ElementNote } from "../turns/repeated-array.ts";
import type { ChatMessage, ToolCall } from "./message.ts";

interface NotedCall {
  readonly id: string;
  /** Type of the item for its result. */
  readonly result: string;
}

const noCalls: readonly NotedCall[] = [];
const message: ChatMessage = { role: "user", content: "" };

export class ChatMessageNote implements ElementNote {
  /** Number of its items. */
  items = 0;
  readonly calls: readonly NotedCall[];
  /** Name of the function that it calls in the old form. */
  readonly called: string | undefined;
  /** Name of the function whose result it is, in the old form. */
  readonly answered: string | undefined;
  /** Whether its reasoning came in a form in which perhaps only its provider can read it. */
  readonly isSealed: boolean;
  /** Paths of its fields that nothing reads. */
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
