/** Converts the input of a request to messages for Cohere. */
import type { InputItem, TurnRequest } from "../../../turn/request.ts";
import { type JsonObject, objects, text } from "../json.ts";
import {
  type ConversationWriter,
  type WrittenCall,
  objectArguments,
  repairedArguments,
  translateInput,
} from "../translate/conversation.ts";
import type { TranslationContext } from "../translate/context.ts";
import { FirstPrompts } from "../translate/first-prompts.ts";
import { CohereMessageList } from "./message-list.ts";
import { coherePart, isTextPart } from "./parts.ts";
import { toThinkingPart } from "./reasoning.ts";

export function cohereMessages(request: TurnRequest, translation: TranslationContext): readonly JsonObject[] {
  const { instructions = "" } = request;
  const writer = new CohereWriter(translation, instructions);
  translateInput(request.input, translation, writer);
  const { prompts, thread } = writer;
  if (thread.isEmpty) thread.addUserMessage(prompts.takeQuestion(translation.onDropped) ?? [], "instructions");
  return thread.finish(prompts.messages.flat());
}

class CohereWriter implements ConversationWriter {
  readonly takesNames = false;
  readonly takesFailures = false;
  readonly takesCallMarks = false;
  readonly #translation: TranslationContext;
  readonly prompts: FirstPrompts<JsonObject>;
  readonly thread: CohereMessageList;
  #path = "input";

  constructor(translation: TranslationContext, instructions: string) {
    this.#translation = translation;
    this.thread = new CohereMessageList(translation.onDropped);
    this.prompts = new FirstPrompts(this.#content(instructions, "instructions"));
  }

  begin(index: number): void {
    this.#path = `input.${index}`;
  }

  /** Adds a system message. Several at the beginning become one; Cohere answers 400 to later ones, so they become user messages. */
  addPrompt(item: InputItem, path: string): void {
    const parts = this.#content(item.content, `${path}.content`);
    if (item.role === "user") return this.thread.addUserMessage(parts, this.#path);
    if (this.thread.isEmpty && parts.every(isTextPart)) return this.prompts.add(parts, path);
    this.#translation.onDropped(
      `${path}.role`,
      "sent as the user's: the format has system messages only at the beginning",
    );
    this.thread.addUserMessage(parts, this.#path);
  }

  addAnswer(item: InputItem, path: string): void {
    this.thread.addAssistantMessage(this.#content(item.content, `${path}.content`));
  }

  addCall({ callId: id, name, argumentsJson }: WrittenCall): void {
    const sent = objectArguments(argumentsJson);
    if (sent !== argumentsJson) this.#translation.onDropped(`${this.#path}.arguments`, repairedArguments);
    this.thread.call({ id, type: "function", function: { name, arguments: sent } });
  }

  addCallOutput(callId: unknown, output: unknown, path: string): void {
    const parts = this.#content(output, path);
    const images = parts.filter((part) => !isTextPart(part));
    this.thread.answer(callId, parts.filter(isTextPart), images);
  }

  addReasoning(item: InputItem, path: string): void {
    const part = toThinkingPart(item, this.#translation.target);
    if (part) this.thread.addAssistantMessage([part]);
    else this.#translation.onDropped(path, "the endpoint takes no reasoning of this kind back");
  }

  addAgentMessage(head: string, content: unknown, path: string): void {
    this.thread.addUserMessage([{ type: "text", text: head }, ...this.#content(content, path)], this.#path);
  }

  #content(content: unknown, path: string): readonly JsonObject[] {
    if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
    const parts = objects(content).map((part, index) => coherePart(part, `${path}.${index}`, this.#translation));
    return parts.filter((part) => !isTextPart(part) || text(part.text) !== "");
  }
}
