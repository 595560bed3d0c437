/** Responses input as chat messages: every kind of item is told, declared lost, or was refused before. */
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";
import { CacheMarks, type MarkedPart } from "./cache-marks.ts";
import { hostedCall, hostedOutput, lossOf } from "../history.ts";
import { chatPart } from "./parts.ts";
import { thoughtFields } from "./thoughts.ts";
import { type Message, Thread } from "./thread.ts";
import type { Words } from "../words.ts";

export function chatMessages(request: TurnRequest, words: Words): readonly Message[] {
  const teller = new Teller(words);
  if (request.instructions !== undefined) teller.thread.add({ role: "system", content: request.instructions });
  for (const [index, item] of request.input.entries()) teller.tell(item, `input.${index}`);
  const messages = teller.thread.finish();
  teller.marks.finish(request.cacheControl, messages);
  return messages;
}

class Teller {
  readonly #words: Words;
  readonly thread: Thread;
  readonly marks: CacheMarks;
  /** Outputs of a local shell may name the id of their call's item. */
  readonly #callIds = new Map<unknown, unknown>();

  constructor(words: Words) {
    this.#words = words;
    this.thread = new Thread(words.lose);
    this.marks = new CacheMarks(words);
  }

  tell(item: InputItem, path: string): void {
    switch (item.type) {
      case "message":
        return item.role === "assistant" ? this.#said(item, path) : this.#asked(item, path);
      case "function_call":
      case "custom_tool_call":
        return this.#call(item, path);
      case "function_call_output":
      case "custom_tool_call_output":
        return this.#answered(item.call_id, item.output, path);
      case "reasoning":
        return this.#thought(item, path);
      case "agent_message":
        return this.#forwarded(item, path);
      case "additional_tools":
      case "tool_search_output":
        return this.#words.lose(path, "its tools are there from the beginning");
      case "configuration_update":
        // Read with the settings.
        return;
      case "item_reference":
        // What it names is told where it stands: twice, it would be a second call of the same id.
        return;
      default:
        return this.#hosted(item, path);
    }
  }

  #asked(item: InputItem, path: string): void {
    const role = item.role === "developer" && !this.#words.target.original ? "system" : text(item.role);
    this.thread.add({ role, content: this.#content(item.content, `${path}.content`) });
  }

  #said(item: InputItem, path: string): void {
    const { target, lose } = this.#words;
    if (item.phase !== undefined && item.phase !== null) lose(`${path}.phase`, "the format has no words for it");
    const parts = typeof item.content === "string" ? [{ text: item.content }] : objects(item.content);
    for (const [index, part] of parts.entries()) {
      const cited = objects(part.annotations).length > 0;
      if (cited) lose(`${path}.content.${index}.annotations`, "the format takes no annotations back");
    }
    const refusal = parts.map((part) => text(part.refusal)).join("");
    const said = parts.map((part) => text(part.text)).join("");
    if (target.original) this.thread.say(said, refusal);
    else this.thread.say(said + refusal, "");
  }

  #call(item: InputItem, path: string): void {
    const { tools, lose } = this.#words;
    if (item.async === true) lose(`${path}.async`, "calls are answered in their turn");
    for (const field of ["subagent_id", "subagent_items"]) {
      if (item[field] !== undefined && item[field] !== null) lose(`${path}.${field}`, "the format has no words for it");
    }
    const name = tools.sentName(text(item.name), text(item.namespace) || undefined);
    const id = item.call_id;
    if (item.type === "function_call") return this.thread.call(functionCall(id, name, item.arguments));
    if (tools.wraps) return this.thread.call(functionCall(id, name, JSON.stringify({ input: item.input })));
    this.thread.call({ id, type: "custom", custom: { name, input: item.input } });
  }

  #answered(callId: unknown, output: unknown, path: string): void {
    if (typeof output === "string") return this.thread.answer(callId, output, []);
    const texts: MarkedPart[] = [];
    const others: JsonObject[] = [];
    for (const [index, part] of objects(output).entries()) {
      const sent = this.#part(part, `${path}.output.${index}`);
      (part.type === "input_text" || part.type === "output_text" ? texts : others).push(sent);
    }
    // Only a mark needs parts: simple servers take nothing but a string.
    const plain = texts.every((part) => Object.keys(part).length === 2);
    this.thread.answer(callId, plain ? texts.map((part) => text(part.text)).join("\n") : texts, others);
  }

  #thought(item: InputItem, path: string): void {
    const fields = thoughtFields(item, this.#words.target);
    if (fields) this.thread.think({ path, fields });
    else this.#words.lose(path, "the endpoint takes no such reasoning back");
  }

  /** From one agent to another: the model is told who speaks to whom. */
  #forwarded(item: InputItem, path: string): void {
    const head = { type: "text", text: `Message from ${text(item.author)} to ${text(item.recipient)}:` };
    const content = this.#content(item.content, `${path}.content`);
    const parts = typeof content === "string" ? [{ type: "text", text: content }] : objects(content);
    this.thread.add({ role: "user", content: [head, ...parts] });
  }

  #hosted(item: InputItem, path: string): void {
    const call = hostedCall(item);
    if (call) {
      this.#callIds.set(item.id, call.callId);
      this.thread.call(functionCall(call.callId, call.name, call.argumentsJson));
    }
    const answer = hostedOutput(item);
    if (answer) this.#answered(this.#callIds.get(answer.callId) ?? answer.callId, answer.output, path);
    if (!call && !answer) this.#words.lose(path, lossOf(item.type));
  }

  /** Plain text stays a string: simple servers take nothing else. */
  #content(content: unknown, path: string): unknown {
    if (typeof content === "string") return content;
    const parts = objects(content).map((part, index) => this.#part(part, `${path}.${index}`));
    const [only] = parts;
    const plain = parts.length === 1 && only?.type === "text" && Object.keys(only).length === 2;
    return plain ? only.text : parts;
  }

  #part(part: JsonObject, path: string): MarkedPart {
    const sent: MarkedPart = { ...chatPart(part, path, this.#words) };
    if (isObject(part.cache_control) || isObject(part.prompt_cache_breakpoint)) this.marks.copy(part, sent, path);
    return sent;
  }
}

const functionCall = (id: unknown, name: string, json: unknown): JsonObject => ({
  id,
  type: "function",
  function: { name, arguments: json },
});
