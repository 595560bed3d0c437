/** Responses input as chat messages. */
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import { type JsonObject, objects, text } from "../json.ts";
import { chatPart } from "./parts.ts";

type Message = { role: string; content: unknown; [field: string]: unknown };

/** @param original developer messages and refusals have a form of their own only with the vendor of the format */
export function chatMessages(request: TurnRequest, original: boolean): readonly Message[] {
  const thread = new Thread(original);
  if (request.instructions !== undefined) thread.add({ role: "system", content: request.instructions });
  for (const item of request.input) thread.item(item);
  return thread.finish();
}

class Thread {
  readonly #original: boolean;
  readonly #messages: Message[] = [];
  /** The assistant message that the next function call belongs to. */
  #assistant: Message | undefined;
  /** Images and files out of tool outputs: a tool message holds text only, so they follow as the user's. */
  #attachments: JsonObject[] = [];

  constructor(original: boolean) {
    this.#original = original;
  }

  add(message: Message): void {
    this.#flush();
    this.#assistant = message.role === "assistant" ? message : undefined;
    this.#messages.push(message);
  }

  item(item: InputItem): void {
    switch (item.type) {
      case "message":
        return item.role === "assistant" ? this.#said(item) : this.#asked(item);
      case "function_call":
        return this.#call(item);
      case "function_call_output":
        return this.#answered(item);
      case "reasoning":
        // Chat has no place for it; servers that think derive it anew.
        return;
      default:
        throw new Fault(FaultReason.NO_ENDPOINTS, `No endpoint of this model takes input items of type ${item.type}`);
    }
  }

  #asked(item: InputItem): void {
    const role = item.role === "developer" && !this.#original ? "system" : text(item.role);
    this.add({ role, content: contentOf(item.content) });
  }

  #said(item: InputItem): void {
    const parts = typeof item.content === "string" ? [{ text: item.content }] : objects(item.content);
    const refusal = parts.map((part) => text(part.refusal)).join("");
    const said = parts.map((part) => text(part.text)).join("");
    if (this.#original && refusal !== "") return this.add({ role: "assistant", content: said || null, refusal });
    this.add({ role: "assistant", content: said + refusal });
  }

  #call(item: InputItem): void {
    if (!this.#assistant) this.add({ role: "assistant", content: null });
    const message = this.#assistant;
    const call = { name: item.name, arguments: item.arguments };
    const calls = [...objects(message?.tool_calls), { id: item.call_id, type: "function", function: call }];
    if (message) message.tool_calls = calls;
  }

  #answered(item: InputItem): void {
    this.#assistant = undefined;
    const parts = objects(item.output);
    const others = parts.filter((part) => part.type !== "input_text");
    const content = typeof item.output === "string" ? item.output : parts.map((part) => text(part.text)).join("\n");
    this.#messages.push({ role: "tool", tool_call_id: item.call_id, content });
    this.#attachments.push(...others.map(chatPart));
  }

  #flush(): void {
    if (this.#attachments.length === 0) return;
    this.#messages.push({ role: "user", content: this.#attachments });
    this.#attachments = [];
  }

  finish(): readonly Message[] {
    this.#flush();
    return this.#messages;
  }
}

/** Plain text stays a string: simple servers take nothing else. */
function contentOf(content: unknown): unknown {
  if (typeof content === "string") return content;
  const parts = objects(content);
  const [only] = parts;
  return parts.length === 1 && only?.type === "input_text" ? only.text : parts.map(chatPart);
}
