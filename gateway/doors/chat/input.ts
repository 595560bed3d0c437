/** Converts messages to input items. */
import { invalid } from "@sluice/proto/lib/validation/problems.js";
import { toJsonString } from "../../edge/turns/json.ts";
import type { RepeatedArray } from "../../edge/turns/repeated-array.ts";
import { answerContentJson, contentJson, jsonMember } from "./content.ts";
import type { CalledFunction, ChatMessage, Content, ContentPart, ToolCall } from "./message.ts";
import type { ReasoningPosition } from "./details.ts";
import { ChatMessageNote } from "./message-note.ts";
import { positionReasoning } from "./thoughts.ts";

export interface ChatInput {
  readonly json: Uint8Array;
  /** For each item, the number of its message. */
  readonly places: readonly number[];
  /** Whether the messages contain reasoning in a form that may be readable only by its provider. */
  readonly hasSealed: boolean;
}

interface MessageArrays {
  readonly messages: RepeatedArray<ChatMessageNote>;
  /** Records the path of a field that reaches no provider. */
  addIgnored(path: string): void;
  ignoredIn(element: string): readonly string[] | undefined;
}

/** Converts the messages of a request. @throws Fault INVALID_REQUEST for a tool result without its call */
export function toInput(messages: readonly ChatMessage[], arrays: MessageArrays): ChatInput {
  const array = arrays.messages;
  const writer = new InputWriter((path) => arrays.addIgnored(path));
  for (let index = 0; index < array.known; index++) writer.skip(array.note(index), index);
  for (let index = array.known; index < messages.length; index++) {
    const note = new ChatMessageNote(messages[index]!);
    const text = writer.message(messages[index]!, note, index);
    const ignored = arrays.ignoredIn(`messages.${index}`);
    if (ignored) note.ignored = ignored;
    array.add(text, ignored && note);
  }
  return { json: array.write(), places: writer.places, hasSealed: writer.hasSealed };
}

class InputWriter {
  /** JSON of the current message's items. */
  #json = "";
  /** Number of the current message. */
  #index = 0;
  readonly places: number[] = [];
  hasSealed = false;
  /** Type of the item for a call's result, by call id. */
  readonly #results = new Map<string, string>();
  /** Calls in the form of the deprecated `functions`, which have no ids, as long as no result follows. */
  readonly #unanswered: { readonly name: string; readonly id: string }[] = [];
  readonly #onIgnored: (path: string) => void;

  /** @param onIgnored called with the path of each field that reaches no provider */
  constructor(onIgnored: (path: string) => void) {
    this.#onIgnored = onIgnored;
  }

  /** Takes over the facts about a message converted in an earlier request. */
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
        return this.#prompt(message);
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

  #prompt(message: ChatMessage): void {
    const { role, name } = message;
    const content = this.#marked(message, message.content!);
    this.#add(`{"type":"message","role":"${role}","content":${contentJson(content)}${jsonMember("name", name)}}`);
  }

  /** Moves the cache mark of a message to its last part. */
  #marked<MessageType extends Content | null | undefined>(
    { cache_control: mark }: ChatMessage,
    content: MessageType,
  ): MessageType | Content {
    if (!mark) return content;
    const parts = typeof content === "string" && content !== "" ? [{ type: "text", text: content }] : content;
    const last = Array.isArray(parts) ? (parts.at(-1) as ContentPart | undefined) : undefined;
    if (last === undefined) this.#ignore("cache_control");
    if (last === undefined || last.cache_control) return content;
    return [...(parts as readonly ContentPart[]).slice(0, -1), { ...last, cache_control: mark }];
  }

  #ignore(field: string): void {
    this.#onIgnored(`messages.${this.#index}.${field}`);
  }

  #answer(message: ChatMessage, index: number): void {
    const thoughts = [...positionReasoning(message)];
    const thinkUpTo = (afterText: boolean, before: number): void => {
      while (thoughts[0] && isUpTo(thoughts[0].place, afterText, before)) this.#add(thoughts.shift()!.json);
    };
    thinkUpTo(false, 0);
    const { refusal, images, tool_calls: calls, function_call: call, name, annotations } = message;
    if (Array.isArray(annotations) && annotations.length > 0) this.#ignore("annotations");
    const isCall = !message.content?.length && calls?.at(-1)?.function !== undefined;
    const content = isCall ? message.content : this.#marked(message, message.content);
    const drawn = images ? images.map((image) => imageJson(image.image_url.url)) : [];
    const isSilent = !content || (typeof content !== "string" && content.every(({ type }) => type === "thinking"));
    const others = drawn.length + (calls?.length ?? 0) + (call ? 1 : 0);
    if (!isSilent || refusal || (others === 0 && this.#json === "")) {
      const json = answerContentJson(content ?? "", refusal ?? "");
      this.#add(`{"type":"message","role":"assistant","content":${json}${jsonMember("name", name)}}`);
    }
    for (const image of drawn) this.#add(image);
    const mark = isCall ? message.cache_control : undefined;
    for (const [place, each] of (calls ?? []).entries()) {
      thinkUpTo(true, place);
      this.#call(each, each === calls?.at(-1) ? mark : undefined);
    }
    thinkUpTo(true, Number.POSITIVE_INFINITY);
    if (call) this.#called(oldCallId(index), call);
  }

  #call({ id, function: called, custom }: ToolCall, mark: unknown): void {
    if (custom) {
      const { name, input } = custom;
      return this.#add(
        `{"type":"custom_tool_call","call_id":${toJsonString(id)},"name":${toJsonString(name)},"input":${toJsonString(input)}}`,
      );
    }
    if (called) this.#called(id, called, mark);
  }

  #called(id: string, { name, arguments: written }: CalledFunction, mark?: unknown): void {
    const marked = mark ? `,"cache_control":${JSON.stringify(mark)}` : "";
    this.#add(
      `{"type":"function_call","call_id":${toJsonString(id)},"name":${toJsonString(name)},"arguments":${toJsonString(written)}${marked}}`,
    );
  }

  #result(message: ChatMessage, index: number): void {
    const { tool_call_id: id = "", name } = message;
    const type = this.#results.get(id);
    if (type === undefined) {
      throw invalid(`messages.${index}.tool_call_id`, "no tool call in the messages before has this id");
    }
    // The name is not needed: the answered call contains it.
    if (name) this.#ignore("name");
    const output = contentJson(this.#marked(message, message.content!));
    this.#add(`{"type":"${type}","call_id":${toJsonString(id)},"output":${output}}`);
  }

  #functionResult({ name, content }: ChatMessage, index: number): void {
    const id = this.#takeCall(name!);
    if (id === undefined)
      throw invalid(`messages.${index}.name`, "no function_call in the messages before has this name");
    this.#add(`{"type":"function_call_output","call_id":${toJsonString(id)},"output":${contentJson(content ?? "")}}`);
  }

  /** Id of the last call of this function without a result. A result in the form of the deprecated `functions` names only the function. */
  #takeCall(name: string): string | undefined {
    const place = this.#unanswered.findLastIndex((call) => call.name === name);
    return place === -1 ? undefined : this.#unanswered.splice(place, 1)[0]!.id;
  }
}

/**
 * Whether reasoning belongs before the next part of the message. @param afterText whether this part comes after the text @param calls number of calls
 * before the part
 */
const isUpTo = (place: ReasoningPosition, afterText: boolean, calls: number): boolean =>
  (afterText || !place.afterText) && place.calls <= calls;

/**
 * Id for a call without one. It depends on the position of the message only, so it is the same in later requests, as the provider's prompt cache
 * requires.
 */
const oldCallId = (index: number): string => `call_${index}`;

const dataUrl = /^data:image\/[a-z0-9.+-]+;base64,/i;

function imageJson(url: string): string {
  const head = dataUrl.exec(url.slice(0, 64))?.[0] ?? "";
  return `{"type":"image_generation_call","status":"completed","result":${JSON.stringify(url.slice(head.length))}}`;
}
