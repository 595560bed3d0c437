/** Writes messages as the items of an input. */
import { invalid } from "@sluice/proto/runtime/validation/problems.js";
import { quoted } from "../turns/json.ts";
import { answerContentJson, contentJson, member } from "./content.ts";
import type { CalledFunction, ChatMessage, ToolCall } from "./message.ts";
import { thoughtsJson } from "./thoughts.ts";

export interface WrittenInput {
  readonly json: Uint8Array;
  /** Numbers of the messages that the items were made of. */
  readonly places: readonly number[];
}

/** @throws Fault INVALID_REQUEST for a result whose call is not there */
export function writeInput(messages: readonly ChatMessage[]): WrittenInput {
  const writer = new InputWriter();
  for (let index = 0; index < messages.length; index++) writer.message(messages[index]!, index);
  return { json: Buffer.from(writer.json()), places: writer.places };
}

class InputWriter {
  #json = "";
  /** Number of the message that is written. */
  #index = 0;
  readonly places: number[] = [];
  /** Type of the item for the result, by id of the call. */
  readonly #results = new Map<string, string>();
  /** Calls in the old form, which have no ids, and no results yet. */
  readonly #unanswered: { readonly name: string; readonly id: string }[] = [];

  json(): string {
    return `[${this.#json}]`;
  }

  message(message: ChatMessage, index: number): void {
    this.#index = index;
    switch (message.role) {
      case "assistant":
        return this.#answer(message, index);
      case "tool":
        return this.#result(message, index);
      case "function":
        return this.#functionResult(message, index);
      default:
        return this.#add(
          `{"type":"message","role":"${message.role}","content":${contentJson(message.content!)}${member("name", message.name)}}`,
        );
    }
  }

  #add(item: string): void {
    this.places.push(this.#index);
    this.#json += this.#json === "" ? item : `,${item}`;
  }

  #answer(message: ChatMessage, index: number): void {
    const before = this.#json.length;
    for (const thought of thoughtsJson(message)) this.#add(thought);
    const { content, refusal, images, tool_calls: calls, function_call: call, name } = message;
    const drawn = images ? images.map((image) => imageJson(image.image_url.url)) : [];
    const isSilent = content === undefined || content === null || content.length === 0;
    const others = drawn.length + (calls?.length ?? 0) + (call ? 1 : 0);
    if (!isSilent || refusal || (others === 0 && this.#json.length === before)) {
      const json = answerContentJson(content ?? "", refusal ?? "");
      this.#add(`{"type":"message","role":"assistant","content":${json}${member("name", name)}}`);
    }
    for (const image of drawn) this.#add(image);
    if (calls) for (const each of calls) this.#call(each);
    if (call) this.#functionCall(call, index);
  }

  #call({ id, function: called, custom }: ToolCall): void {
    if (custom) {
      this.#results.set(id, "custom_tool_call_output");
      const { name, input } = custom;
      return this.#add(
        `{"type":"custom_tool_call","call_id":${quoted(id)},"name":${quoted(name)},"input":${quoted(input)}}`,
      );
    }
    if (called) this.#called(id, called);
  }

  #called(id: string, { name, arguments: written }: CalledFunction): void {
    this.#results.set(id, "function_call_output");
    this.#add(`{"type":"function_call","call_id":${quoted(id)},"name":${quoted(name)},"arguments":${quoted(written)}}`);
  }

  /** The id is made from the place of the message, so that it stays the same in later requests and the provider's cache finds it. */
  #functionCall(call: CalledFunction, index: number): void {
    const id = `call_${index}`;
    this.#unanswered.push({ name: call.name, id });
    this.#called(id, call);
  }

  #result({ tool_call_id: id = "", content }: ChatMessage, index: number): void {
    const type = this.#results.get(id);
    if (type === undefined) {
      throw invalid(`messages.${index}.tool_call_id`, "no tool call in the messages before has this id");
    }
    this.#add(`{"type":"${type}","call_id":${quoted(id)},"output":${contentJson(content!)}}`);
  }

  #functionResult({ name, content }: ChatMessage, index: number): void {
    const place = this.#unanswered.findLastIndex((call) => call.name === name);
    const [call] = place === -1 ? [] : this.#unanswered.splice(place, 1);
    if (!call) throw invalid(`messages.${index}.name`, "no function_call in the messages before has this name");
    this.#add(`{"type":"function_call_output","call_id":${quoted(call.id)},"output":${contentJson(content ?? "")}}`);
  }
}

const dataUrl = /^data:image\/[a-z0-9.+-]+;base64,/i;

function imageJson(url: string): string {
  const head = dataUrl.exec(url.slice(0, 64))?.[0] ?? "";
  return `{"type":"image_generation_call","status":"completed","result":${JSON.stringify(url.slice(head.length))}}`;
}
