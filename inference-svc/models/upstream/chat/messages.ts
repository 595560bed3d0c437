/** Converts the input of a request to chat messages. */
import type { InputItem, TurnRequest } from "../../../turn/request.ts";
import { type JsonObject, Verbatim, objects, text } from "../json.ts";
import { ChatCacheMarks, type MarkedPart } from "./cache-marks.ts";
import { chatPart } from "./parts.ts";
import {
  type ConversationWriter,
  type WrittenCall,
  hasParticipantName,
  objectArguments,
  repairedArguments,
  translateInput,
} from "../translate/conversation.ts";
import { buildReasoningFields, takesThought } from "./reasoning.ts";
import { type ChatMessage, ChatMessageList } from "./message-list.ts";
import { RepeatedMessages } from "./repeated-messages.ts";
import { boundedId } from "../translate/bounded-id.ts";
import {
  type Opening,
  isPrompt,
  joinPromptTexts,
  openingOf,
  reportJoined,
  reportQuestion,
  takesPromptsAnywhere,
} from "../translate/first-prompts.ts";
import { isMistral, toMistralId } from "../translate/mistral-ids.ts";
import { type ChatVendor, chatVendor } from "./vendors.ts";
import { findCacheMark } from "../translate/special-inputs.ts";
import type { TranslationContext } from "../translate/context.ts";

/** The messages as a JSON array. */
export function chatMessages(request: TurnRequest, translation: TranslationContext): Verbatim {
  const { instructions, input, cacheControl } = request;
  const opening = openingOf(request, !takesPromptsAnywhere(translation.target));
  const from = opening.joins ? opening.prompts : 0;
  // The cache mark of the whole request may change any message, so no cached messages are used.
  const repeated = cacheControl ? undefined : RepeatedMessages.open(input, translation, from, opening.prompts);
  const writer = new ChatWriter(repeated?.translation ?? translation, repeated, opening);
  if (opening.joins) writer.joinPrompts(instructions, input);
  else if (instructions !== undefined) writer.instruct(instructions);
  const heads = writer.thread.length;
  repeated?.beginItems();
  translateInput(input, writer.translation, writer, repeated?.knownItems ?? from);
  writer.begin(input.length);
  const messages = writer.thread.finish();
  if (cacheControl || writer.marks) (writer.marks ?? new ChatCacheMarks(translation)).finish(cacheControl, messages);
  return new Verbatim(repeated ? repeated.json(messages, heads) : JSON.stringify(messages));
}

/** Maximum characters of a call id. OpenAI answers 400 to longer ones in this format ("Expected a string with maximum length 40"). */
const vendorIdLength = 40;

class ChatWriter implements ConversationWriter {
  readonly takesNames = true;
  readonly takesFailures = false;
  readonly takesCallMarks = false;
  readonly translation: TranslationContext;
  readonly #repeated: RepeatedMessages | undefined;
  readonly #isMistral: boolean;
  readonly #vendor: ChatVendor;
  readonly #opening: Opening;
  #index = 0;
  readonly thread: ChatMessageList;
  /** The cache marks; absent before the first one, since most requests have none. */
  marks: ChatCacheMarks | undefined;

  constructor(translation: TranslationContext, repeated: RepeatedMessages | undefined, opening: Opening) {
    this.translation = translation;
    this.#repeated = repeated;
    this.#opening = opening;
    this.#isMistral = isMistral(translation.target.upstreamModel);
    this.#vendor = chatVendor(translation.target);
    this.thread = new ChatMessageList(translation.onDropped, {
      answersResults: this.#isMistral,
      countsDetails: takesThought("reasoning_details", translation.target),
    });
  }

  instruct(instructions: string): void {
    if (this.#opening.asksInstructions) reportQuestion("instructions", this.translation.onDropped);
    this.thread.add({ role: this.#opening.asksInstructions ? "user" : "system", content: instructions });
  }

  /** Writes the instructions and the first prompts as one system message: as one text, or as parts if one of them has a cache mark. */
  joinPrompts(instructions: string | undefined, input: readonly InputItem[]): void {
    const { onDropped } = this.translation;
    const parts: JsonObject[] = instructions === undefined ? [] : [{ type: "text", text: instructions }];
    for (const [index, item] of input.slice(0, this.#opening.prompts).entries()) {
      const path = `input.${index}`;
      if (hasParticipantName(item)) onDropped(`${path}.name`, "system messages are sent as one");
      if (parts.length > 0) reportJoined(path, onDropped);
      const content = this.#content(item.content, `${path}.content`);
      parts.push(...(typeof content === "string" ? [{ type: "text", text: content }] : objects(content)));
    }
    const content = parts.every(isPlainText) ? joinPromptTexts(parts.map((part) => text(part.text))) : parts;
    this.thread.add({ role: "system", content });
  }

  begin(index: number): void {
    this.#index = index;
    this.thread.path = `input.${index}`;
    // Whether a mark stays depends on all other marks, so messages with marks are not cached.
    if (this.#repeated && this.thread.isComplete && !this.marks?.any)
      this.#repeated.complete(index, this.thread.length);
  }

  addPrompt(item: InputItem, path: string): void {
    const { target, onDropped } = this.translation;
    const takesRole = item.role !== "developer" || target.original || this.#vendor.takesDevelopers;
    let role = takesRole ? text(item.role) : "system";
    if (isPrompt(item) && this.#index >= this.#opening.prompts) {
      onDropped(`${path}.role`, this.#opening.reason);
      role = "user";
    }
    const content = this.#content(item.content, `${path}.content`);
    this.thread.add(hasParticipantName(item) ? { role, name: item.name, content } : { role, content });
  }

  addAnswer(item: InputItem, path: string): void {
    const { content } = item;
    if (typeof content === "string") return void this.thread.addAssistantMessage(content, "");
    let body = "";
    let refusal = "";
    for (const part of objects(content)) {
      body += text(part.text);
      refusal += text(part.refusal);
    }
    const isVendor = this.translation.target.original;
    const message = isVendor
      ? this.thread.addAssistantMessage(body, refusal)
      : this.thread.addAssistantMessage(body + refusal, "");
    this.#markAnswer(objects(content), message, `${path}.content`);
  }

  /** Puts the cache mark of an answer on its message. The parts of an answer form one text, so their last mark counts. */
  #markAnswer(parts: readonly JsonObject[], message: ChatMessage | undefined, path: string): void {
    const last = parts.findLastIndex(isMarked);
    for (const [index, part] of parts.entries()) {
      const field = findCacheMark(part);
      if (field === undefined) continue;
      if (index === last && message && text(message.content) !== "") {
        const marked: MarkedPart = { type: "text", text: message.content };
        this.#copyMark(part, marked, `${path}.${index}`);
        if (!isPlainText(marked)) message.content = [marked];
      } else this.translation.onDropped(`${path}.${index}.${field}`, "the message is sent as one text");
    }
  }

  #callId(callId: unknown): unknown {
    if (this.#isMistral) return toMistralId(callId);
    return this.translation.target.original ? boundedId(callId, vendorIdLength) : callId;
  }

  addCall({ callId, name, argumentsJson, input }: WrittenCall): void {
    const id = this.#callId(callId);
    const custom = input !== undefined && !this.translation.tools.wraps;
    this.thread.call(
      custom
        ? { id, type: "custom", custom: { name, input } }
        : { id, type: "function", function: { name, arguments: this.#arguments(argumentsJson) } },
    );
  }

  /** Arguments of a call. OpenAI takes any text; other servers parse it, so it must be JSON. */
  #arguments(json: string): string {
    if (this.translation.target.original) return json;
    const sent = objectArguments(json);
    if (sent !== json) this.translation.onDropped(`${this.thread.path}.arguments`, repairedArguments);
    return sent;
  }

  addCallOutput(givenId: unknown, output: unknown, path: string): void {
    const callId = this.#callId(givenId);
    if (typeof output === "string") return this.thread.answer(callId, output, []);
    const parts = objects(output).map((part, index) => this.#part(part, `${path}.${index}`));
    const texts = parts.filter(isText);
    // Mistral's models take pictures in a tool result, and some answer 400 to a user message after it.
    const takesMedia = this.#isMistral || this.#vendor.takesMediaInResults;
    if (takesMedia && texts.length < parts.length) return this.thread.answer(callId, parts, []);
    // Simple servers take only a string, so parts are sent only when one of them has a cache mark.
    const content = texts.every(isPlainText) ? texts.map((part) => text(part.text)).join("\n") : texts;
    const media = parts.filter((part) => !isText(part));
    if (media.length > 0) this.translation.onDropped(path, moved);
    this.thread.answer(callId, content, media);
  }

  addReasoning(item: InputItem, path: string): void {
    const fields = buildReasoningFields(item, this.translation.target);
    if (fields) this.thread.think({ path, fields });
    else this.translation.onDropped(path, "the endpoint takes no reasoning of this kind back");
  }

  addBlankThought(path: string): void {
    if (takesThought("reasoning_content", this.translation.target))
      this.thread.think({ path, fields: { reasoning_content: "" } });
  }

  addAgentMessage(head: string, content: unknown, path: string): void {
    const body = this.#content(content, path);
    const parts = typeof body === "string" ? [{ type: "text", text: body }] : objects(body);
    this.thread.add({ role: "user", content: [{ type: "text", text: head }, ...parts] });
  }

  /** Content of a message. Plain text stays a string, because simple servers take nothing else. */
  #content(content: unknown, path: string): unknown {
    if (typeof content === "string") return content;
    const parts: MarkedPart[] = [];
    for (const part of objects(content)) parts.push(this.#part(part, `${path}.${parts.length}`));
    const only = parts[0];
    return parts.length === 1 && only && isPlainText(only) ? only.text : parts;
  }

  #part(part: JsonObject, path: string): MarkedPart {
    const sent = chatPart(part, path, this.translation);
    if (isMarked(part)) this.#copyMark(part, sent, path);
    return sent;
  }

  #copyMark(part: JsonObject, sent: MarkedPart, path: string): void {
    this.marks ??= new ChatCacheMarks(this.translation);
    this.marks.copy(part, sent, path);
  }
}

const moved = "repaired: pictures and files follow in a message of the user, because most servers take only texts here";

const isText = ({ type }: JsonObject): boolean => type === "text";

const isMarked = (part: JsonObject): boolean => findCacheMark(part) !== undefined;

/** Whether a part is a text without a cache mark. */
const isPlainText = ({ type, cache_control: control, prompt_cache_breakpoint: breakpoint }: JsonObject): boolean =>
  type === "text" && control === undefined && breakpoint === undefined;
