/** Writes messages as the items of an input. */
import { invalid } from "@sluice/proto/runtime/validation/problems.js";
import { quoted } from "../turns/json.ts";
import type { RepeatedArray } from "../turns/repeated-array.ts";
import { answerContentJson, contentJson, member } from "./content.ts";
import type { CalledFunction, ChatMessage, ToolCall } from "./message.ts";
import { ChatMessageNote } from "./message-note.ts";
import { thoughtsJson } from "./thoughts.ts";

export interface WrittenInput {
  readonly json: Uint8Array;
  /** Numbers of the messages that the items were made of. */
  readonly places: readonly number[];
  /** Whether reasoning stands in the messages that perhaps only its provider can read. */
  readonly hasSealed: boolean;
}

/** @throws Fault INVALID_REQUEST for a result whose call is not there */
export function writeInput(messages: readonly ChatMessage[], array: RepeatedArray<ChatMessageNote>): WrittenInput {
  const writer = new InputWriter();
  for (let index = 0; index < array.known; index++) writer.skip(array.note(index), index);
  for (let index = array.known; index < messages.length; index++) {
    const note = new ChatMessageNote(messages[index]!);
    array.add(writer.message(messages[index]!, note, index), note);
  }
  return { json: array.write(), places: writer.places, hasSealed: writer.hasSealed };
}

class InputWriter {
  /** Items of the message that is written. */
  #json = "";
  /** Number of the message that is written. */
  #index = 0;
  readonly places: number[] = [];
  hasSealed = false;
  /** Type of the item for the result, by id of the call. */
  readonly #results = new Map<string, string>();
  /** Calls in the old form, which have no ids, and no results yet. */
  readonly #unanswered: { readonly name: string; readonly id: string }[] = [];

  /** Takes note of a message that was written before. */
  skip(note: ChatMessageNote, index: number): void {
    for (let item = 0; item < note.items; item++) this.places.push(index);
    this.#learn(note, index);
    if (note.answered !== undefined) this.#takeCall(note.answered);
  }

  /** @returns the items of the message, each with a comma after it */
  message(message: ChatMessage, note: ChatMessageNote, index: number): string {
    this.#json = "";
    this.#index = index;
    const before = this.places.length;
    this.#write(message, index);
    this.#learn(note, index);
    note.items = this.places.length - before;
    return this.#json;
  }

  #write(message: ChatMessage, index: number): void {
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

  #learn({ calls, called, isSealed }: ChatMessageNote, index: number): void {
    this.hasSealed ||= isSealed;
    for (const { id, result } of calls) this.#results.set(id, result);
    if (called !== undefined) this.#unanswered.push({ name: called, id: oldCallId(index) });
  }

  #add(item: string): void {
    this.places.push(this.#index);
    this.#json += `${item},`;
  }

  #answer(message: ChatMessage, index: number): void {
    for (const thought of thoughtsJson(message)) this.#add(thought);
    const { content, refusal, images, tool_calls: calls, function_call: call, name } = message;
    const drawn = images ? images.map((image) => imageJson(image.image_url.url)) : [];
    const isSilent = content === undefined || content === null || content.length === 0;
    const others = drawn.length + (calls?.length ?? 0) + (call ? 1 : 0);
    if (!isSilent || refusal || (others === 0 && this.#json === "")) {
      const json = answerContentJson(content ?? "", refusal ?? "");
      this.#add(`{"type":"message","role":"assistant","content":${json}${member("name", name)}}`);
    }
    for (const image of drawn) this.#add(image);
    if (calls) for (const each of calls) this.#call(each);
    if (call) this.#called(oldCallId(index), call);
  }

  #call({ id, function: called, custom }: ToolCall): void {
    if (custom) {
      const { name, input } = custom;
      return this.#add(
        `{"type":"custom_tool_call","call_id":${quoted(id)},"name":${quoted(name)},"input":${quoted(input)}}`,
      );
    }
    if (called) this.#called(id, called);
  }

  #called(id: string, { name, arguments: written }: CalledFunction): void {
    this.#add(`{"type":"function_call","call_id":${quoted(id)},"name":${quoted(name)},"arguments":${quoted(written)}}`);
  }

  #result({ tool_call_id: id = "", content }: ChatMessage, index: number): void {
    const type = this.#results.get(id);
    if (type === undefined) {
      throw invalid(`messages.${index}.tool_call_id`, "no tool call in the messages before has this id");
    }
    this.#add(`{"type":"${type}","call_id":${quoted(id)},"output":${contentJson(content!)}}`);
  }

  #functionResult({ name, content }: ChatMessage, index: number): void {
    const id = this.#takeCall(name!);
    if (id === undefined)
      throw invalid(`messages.${index}.name`, "no function_call in the messages before has this name");
    this.#add(`{"type":"function_call_output","call_id":${quoted(id)},"output":${contentJson(content ?? "")}}`);
  }

  /** The id of the last call of this function that has no result yet. */
  #takeCall(name: string): string | undefined {
    const place = this.#unanswered.findLastIndex((call) => call.name === name);
    return place === -1 ? undefined : this.#unanswered.splice(place, 1)[0]!.id;
  }
}

/** The id is made from the place of the message, so that it stays the same in later requests and the provider's cache finds it. */
const oldCallId = (index: number): string => `call_${index}`;

const dataUrl = /^data:image\/[a-z0-9.+-]+;base64,/i;

function imageJson(url: string): string {
  const head = dataUrl.exec(url.slice(0, 64))?.[0] ?? "";
  return `{"type":"image_generation_call","status":"completed","result":${JSON.stringify(url.slice(head.length))}}`;
}
