/** Responses input as chat messages. */
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";
import { CacheMarks, type MarkedPart } from "./cache-marks.ts";
import { chatPart } from "./parts.ts";
import { type Speech, type ToldCall, tellInput } from "../teller.ts";
import { thoughtFields } from "./thoughts.ts";
import { type Message, Thread } from "./thread.ts";
import type { Words } from "../words.ts";

export function chatMessages(request: TurnRequest, words: Words): readonly Message[] {
  const speech = new ChatSpeech(words);
  if (request.instructions !== undefined) speech.thread.add({ role: "system", content: request.instructions });
  tellInput(request.input, words, speech);
  const messages = speech.thread.finish();
  speech.marks.finish(request.cacheControl, messages);
  return messages;
}

class ChatSpeech implements Speech {
  readonly #words: Words;
  readonly thread: Thread;
  readonly marks: CacheMarks;

  constructor(words: Words) {
    this.#words = words;
    this.thread = new Thread(words.lose);
    this.marks = new CacheMarks(words);
  }

  ask(item: InputItem, path: string): void {
    const role = item.role === "developer" && !this.#words.target.original ? "system" : text(item.role);
    this.thread.add({ role, content: this.#content(item.content, `${path}.content`) });
  }

  say(item: InputItem): void {
    const parts = typeof item.content === "string" ? [{ text: item.content }] : objects(item.content);
    const refusal = parts.map((part) => text(part.refusal)).join("");
    const said = parts.map((part) => text(part.text)).join("");
    if (this.#words.target.original) this.thread.say(said, refusal);
    else this.thread.say(said + refusal, "");
  }

  call({ callId: id, name, argumentsJson, input }: ToldCall): void {
    const custom = input !== undefined && !this.#words.tools.wraps;
    this.thread.call(
      custom
        ? { id, type: "custom", custom: { name, input } }
        : { id, type: "function", function: { name, arguments: argumentsJson } },
    );
  }

  answer(callId: unknown, output: unknown, path: string): void {
    if (typeof output === "string") return this.thread.answer(callId, output, []);
    const texts: MarkedPart[] = [];
    const others: JsonObject[] = [];
    for (const [index, part] of objects(output).entries()) {
      const sent = this.#part(part, `${path}.${index}`);
      (part.type === "input_text" || part.type === "output_text" ? texts : others).push(sent);
    }
    // Only a mark needs parts: simple servers take nothing but a string.
    const plain = texts.every((part) => Object.keys(part).length === 2);
    this.thread.answer(callId, plain ? texts.map((part) => text(part.text)).join("\n") : texts, others);
  }

  think(item: InputItem, path: string): void {
    const fields = thoughtFields(item, this.#words.target);
    if (fields) this.thread.think({ path, fields });
    else this.#words.lose(path, "the endpoint takes no such reasoning back");
  }

  forward(head: string, content: unknown, path: string): void {
    const said = this.#content(content, path);
    const parts = typeof said === "string" ? [{ type: "text", text: said }] : objects(said);
    this.thread.add({ role: "user", content: [{ type: "text", text: head }, ...parts] });
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
