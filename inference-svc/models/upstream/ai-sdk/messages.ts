/** Converts the input of a request to a prompt of the AI SDK. */
import type {
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultPart,
} from "@ai-sdk/provider";
import type { InputItem, TurnRequest } from "../../../turn/request.ts";
import { type JsonObject, objects, text } from "../json.ts";
import { type ConversationWriter, type WrittenCall, translateInput } from "../translate/conversation.ts";
import type { TranslationContext } from "../translate/context.ts";
import { FirstPrompts, joinPromptTexts } from "../translate/first-prompts.ts";
import { type UserPart, sdkPart } from "./parts.ts";

export function buildPrompt(request: TurnRequest, translation: TranslationContext): LanguageModelV4Prompt {
  const { instructions = "" } = request;
  const writer = new PromptWriter(translation, instructions);
  translateInput(request.input, translation, writer);
  const { messages, prompts } = writer;
  if (messages.length === 0) writer.addUser(prompts.takeQuestion(translation.onDropped) ?? []);
  writer.settle();
  return [
    ...prompts.messages.map((parts) => ({ role: "system" as const, content: joinPromptTexts(textsOf(parts)) })),
    ...messages,
  ];
}

interface AssistantMessage {
  readonly role: "assistant";
  readonly content: (LanguageModelV4TextPart | LanguageModelV4ToolCallPart)[];
}

interface Results {
  readonly role: "tool";
  readonly content: LanguageModelV4ToolResultPart[];
}

class PromptWriter implements ConversationWriter {
  readonly takesNames = false;
  readonly takesFailures = false;
  readonly takesCallMarks = false;
  readonly #translation: TranslationContext;
  readonly prompts: FirstPrompts<UserPart>;
  readonly messages: LanguageModelV4Message[] = [];
  /** For each call, the message that contains it and its name, by call id. */
  readonly #calls = new Map<unknown, { readonly name: string; readonly message: AssistantMessage }>();
  readonly #results = new Map<AssistantMessage, Results>();
  /**
   * Images and files from tool outputs that wait for the next message: most packages take only text in outputs, so they
   * follow as a user message.
   */
  #attachments: UserPart[] = [];

  constructor(translation: TranslationContext, instructions: string) {
    this.#translation = translation;
    this.prompts = new FirstPrompts(this.#content(instructions, "instructions"));
  }

  /**
   * Adds a system message. One at the beginning stays a system message; a later one becomes a user message, because
   * many packages allow no others.
   */
  addPrompt(item: InputItem, path: string): void {
    const parts = this.#content(item.content, `${path}.content`);
    if (item.role === "user") return this.addUser(parts);
    if (this.messages.length === 0 && textsOf(parts).length === parts.length) return this.prompts.add(parts, path);
    this.#translation.onDropped(
      `${path}.role`,
      "sent as the user's: the format has system messages only at the beginning",
    );
    this.addUser(parts);
  }

  addAnswer(item: InputItem, path: string): void {
    const parts = this.#content(item.content, `${path}.content`).filter((part) => part.type === "text");
    if (parts.length > 0) this.#assistant().content.push(...parts);
  }

  addCall({ callId, name, argumentsJson }: WrittenCall): void {
    const message = this.#assistant();
    this.#calls.set(callId, { name, message });
    message.content.push({
      type: "tool-call",
      toolCallId: text(callId),
      toolName: name,
      input: parseInput(argumentsJson),
    });
  }

  addCallOutput(callId: unknown, output: unknown, path: string): void {
    const call = this.#calls.get(callId);
    if (!call) return;
    const parts = this.#content(output, path);
    const texts = textsOf(parts);
    this.#attachments.push(...parts.filter((part) => part.type === "file"));
    this.#findResults(call.message).content.push({
      type: "tool-result",
      toolCallId: text(callId),
      toolName: call.name,
      output: { type: "text", value: texts.join("\n") },
    });
  }

  /** Reports reasoning as not sent: each package encrypts it differently, so none is sent back. */
  addReasoning(_item: InputItem, path: string): void {
    this.#translation.onDropped(path, "the interface takes no reasoning back");
  }

  addAgentMessage(head: string, content: unknown, path: string): void {
    this.addUser([{ type: "text", text: head }, ...this.#content(content, path)]);
  }

  /** Adds waiting images and files of tool outputs, before the next message. */
  settle(): void {
    const attachments = this.#attachments;
    this.#attachments = [];
    if (attachments.length > 0) this.messages.push({ role: "user", content: attachments });
  }

  addUser(parts: readonly UserPart[]): void {
    this.settle();
    if (parts.length > 0) this.messages.push({ role: "user", content: [...parts] });
  }

  #assistant(): AssistantMessage {
    this.settle();
    const last = this.messages.at(-1);
    if (last?.role === "assistant") return last as AssistantMessage;
    const message: AssistantMessage = { role: "assistant", content: [] };
    this.messages.push(message);
    return message;
  }

  /** Finds the results for a message's calls. They stand right after the calls, even when other messages came in between. */
  #findResults(message: AssistantMessage): Results {
    const known = this.#results.get(message);
    if (known) return known;
    const results: Results = { role: "tool", content: [] };
    this.#results.set(message, results);
    this.messages.splice(this.messages.indexOf(message) + 1, 0, results);
    return results;
  }

  #content(content: unknown, path: string): UserPart[] {
    if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
    const parts = objects(content).map((part, index) => sdkPart(part, `${path}.${index}`, this.#translation));
    return parts.filter((part) => part.type !== "text" || part.text !== "");
  }
}

const textsOf = (parts: readonly UserPart[]): readonly string[] =>
  parts.flatMap((part) => (part.type === "text" ? [part.text] : []));

/** Parses arguments. Unfinished ones are invalid JSON, and are kept as text. */
function parseInput(json: string): unknown {
  try {
    return JSON.parse(json === "" ? "{}" : json);
  } catch {
    return { arguments: json } satisfies JsonObject;
  }
}
