/** Converts the input of a request to a system instruction and contents for Gemini. */
import type { InputItem, TurnRequest } from "../../../turn/request.ts";
import { type JsonObject, objects, text } from "../json.ts";
import {
  type ConversationWriter,
  type WrittenCall,
  parseArguments,
  translateInput,
} from "../translate/conversation.ts";
import type { TranslationContext } from "../translate/context.ts";
import { FirstPrompts } from "../translate/first-prompts.ts";
import { geminiPart, isText } from "./parts.ts";
import { signCalls, findSignature, geminiReasoningFormat } from "./reasoning.ts";
import { type Content, ContentList } from "./message-list.ts";

export interface GeminiConversation {
  readonly system: readonly JsonObject[];
  readonly contents: readonly Content[];
}

export function buildContents(request: TurnRequest, translation: TranslationContext): GeminiConversation {
  const { instructions = "" } = request;
  const writer = new GeminiWriter(translation, instructions);
  translateInput(request.input, translation, writer);
  const contents = signCalls(writer.thread.finish(), translation.target);
  const question = contents.length === 0 ? writer.prompts.takeQuestion(translation.onDropped) : undefined;
  const system = writer.prompts.messages.flat();
  return { system, contents: question ? [{ role: "user", parts: [...question] }] : contents };
}

class GeminiWriter implements ConversationWriter {
  readonly takesNames = false;
  readonly takesFailures = false;
  readonly takesCallMarks = false;
  readonly #translation: TranslationContext;
  readonly prompts: FirstPrompts<JsonObject>;
  readonly thread: ContentList;

  constructor(translation: TranslationContext, instructions: string) {
    this.#translation = translation;
    this.thread = new ContentList(translation.onDropped);
    this.prompts = new FirstPrompts(this.#content(instructions, "instructions"));
  }

  /** Adds a system message. One at the beginning is added to the system instruction; a later one becomes a user content. */
  addPrompt(item: InputItem, path: string): void {
    const parts = this.#content(item.content, `${path}.content`);
    if (item.role === "user") return this.thread.addUserMessage(parts);
    if (this.thread.contents.length === 0 && parts.every(isText)) return this.prompts.add(parts, path);
    this.#translation.onDropped(
      `${path}.role`,
      "sent as the user's: the format has system messages only at the beginning",
    );
    this.thread.addUserMessage(parts);
  }

  addAnswer(item: InputItem, path: string): void {
    this.thread.addAssistantMessage(this.#content(item.content, `${path}.content`));
  }

  addCall({ callId, name, argumentsJson }: WrittenCall): void {
    this.thread.call(callId, name, { functionCall: { id: callId, name, args: parseArguments(argumentsJson) } });
  }

  /** Adds the output of a call. Gemini expects the output of a function under "output". */
  addCallOutput(callId: unknown, output: unknown, path: string): void {
    const parts = this.#content(output, path);
    const texts = parts.filter(isText).map((part) => text(part.text));
    const attachments = parts.filter((part) => !isText(part));
    this.thread.answer(callId, { output: texts.join("\n") }, attachments);
  }

  /** Adds the signature of reasoning. Reasoning without one is only for people, and Gemini does not take it back. */
  addReasoning(item: InputItem, path: string): void {
    const value = findSignature(item);
    if (value !== "") this.thread.sign({ path, value });
    else if (item.format !== geminiReasoningFormat) {
      this.#translation.onDropped(path, "the provider only reads reasoning of its own models");
    }
  }

  addAgentMessage(head: string, content: unknown, path: string): void {
    this.thread.addUserMessage([{ text: head }, ...this.#content(content, path)]);
  }

  /** Parts of a content. Empty texts are left out, because Gemini answers 400 to them. */
  #content(content: unknown, path: string): JsonObject[] {
    if (typeof content === "string") return content === "" ? [] : [{ text: content }];
    const parts = objects(content).map((part, index) => geminiPart(part, `${path}.${index}`, this.#translation));
    return parts.filter((part) => part.text !== "");
  }
}
