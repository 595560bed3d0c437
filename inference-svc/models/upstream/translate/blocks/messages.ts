/** Converts the input of a request to a system prompt and messages made of blocks, for formats of this kind. */
import type { InputItem, TextFormat, TurnRequest } from "../../../../turn/request.ts";
import { jsonInstruction } from "../../../answer-instruction.ts";
import type { Target } from "../../dialect.ts";
import { type JsonObject, isObject, objects, text } from "../../json.ts";
import { type ConversationWriter, type WrittenCall, parseArguments, translateInput } from "../conversation.ts";
import type { TranslationContext } from "../context.ts";
import { FirstPrompts } from "../first-prompts.ts";
import type { CacheMarks } from "./cache-marks.ts";
import { type Block, type BlockMessage, MessageList, textBlock } from "./message-list.ts";

export interface Conversation {
  readonly system: Block[];
  readonly messages: readonly BlockMessage[];
}

/** Differences between the formats made of blocks. */
export interface BlockFormat {
  /** Converts a part. @param part a part the format accepts */
  part(part: JsonObject, path: string, translation: TranslationContext): Block;
  /** The block for a text in a call's output that names a tool found by the client. @returns undefined to send the text itself */
  reference?(part: JsonObject, translation: TranslationContext): Block | undefined;
  callId(callId: unknown): string;
  /** Whether the provider answers 400 to a conversation that starts with the assistant. */
  readonly beginsWithUser: boolean;
  /** Whether the result of a call can mark a failure of the tool. */
  readonly takesFailures: boolean;
  /** Whether the endpoint takes system messages in the middle of the conversation; absent if none does. */
  takesPromptsAmid?(target: Target): boolean;
  /** The block for reasoning. @returns undefined for reasoning to which the provider would answer 400 */
  thought(item: InputItem): Block | undefined;
  /** Blocks of a call the provider ran. @returns undefined for other items. Absent if the format has no such blocks */
  serverCall?(item: InputItem, path: string, translation: TranslationContext): readonly Block[] | undefined;
}

export function translateConversation(
  request: TurnRequest,
  translation: TranslationContext,
  marks: Pick<CacheMarks, "copy" | "copyCall">,
  format: BlockFormat,
): Conversation {
  const { instructions = "" } = request;
  const writer = new BlockWriter(translation, marks, format, instructions);
  translateInput(request.input, translation, writer);
  const messages = writer.thread.finish(format.beginsWithUser);
  const question = messages.length === 0 ? writer.prompts.takeQuestion(translation.onDropped) : undefined;
  const system = writer.prompts.messages.flat();
  if (needsJsonInstruction(request.textFormat)) system.push(textBlock(jsonInstruction));
  return { system, messages: question ? [{ role: "user", content: [...question] }] : messages };
}

/** Whether an instruction must replace the JSON mode, which these formats lack. */
export const needsJsonInstruction = (format: TextFormat | undefined): boolean =>
  format?.type === "json_object" && format.isInstructed !== true;

class BlockWriter implements ConversationWriter {
  readonly takesNames = false;
  readonly takesFailures: boolean;
  readonly takesCallMarks = true;
  readonly #translation: TranslationContext;
  readonly #marks: Pick<CacheMarks, "copy" | "copyCall">;
  readonly #format: BlockFormat;
  readonly prompts: FirstPrompts<Block>;
  readonly thread: MessageList;

  constructor(
    translation: TranslationContext,
    marks: Pick<CacheMarks, "copy" | "copyCall">,
    format: BlockFormat,
    instructions: string,
  ) {
    this.#translation = translation;
    this.#marks = marks;
    this.#format = format;
    this.takesFailures = format.takesFailures;
    this.thread = new MessageList(translation.onDropped);
    this.prompts = new FirstPrompts(this.#content(instructions, "instructions"));
  }

  /**
   * Adds a system message. One at the beginning is added to the system prompt; a later one becomes a user message if
   * the format has no other place for it.
   */
  addPrompt(item: InputItem, path: string): void {
    const blocks = this.#content(item.content, `${path}.content`);
    if (item.role === "user") return this.thread.addUserMessage(blocks);
    if (blocks.every(({ type }) => type === "text")) {
      if (this.thread.messages.length === 0) return this.prompts.add(blocks, path);
      const { target } = this.#translation;
      if (this.#format.takesPromptsAmid?.(target) === true)
        return this.thread.instruct({ path: `${path}.role`, blocks });
    }
    this.#translation.onDropped(
      `${path}.role`,
      "sent as the user's: the format has system messages only at the beginning",
    );
    this.thread.addUserMessage(blocks);
  }

  addAnswer(item: InputItem, path: string): void {
    this.thread.addAssistantMessage(this.#content(item.content, `${path}.content`), path);
  }

  addCall(call: WrittenCall): void {
    const { callId, name, argumentsJson } = call;
    const id = this.#format.callId(callId);
    const block: Block = { type: "tool_use", id, name, input: parseArguments(argumentsJson) };
    this.#marks.copyCall(call, block);
    this.thread.addAssistantMessage([block]);
  }

  addServerCall(item: InputItem, path: string): boolean {
    const blocks = this.#format.serverCall?.(item, path, this.#translation);
    if (blocks === undefined) return false;
    this.thread.addAssistantMessage(blocks, path);
    return true;
  }

  refersTo(part: JsonObject): boolean {
    return this.#format.reference?.(part, this.#translation) !== undefined;
  }

  addCallOutput(callId: unknown, output: unknown, path: string, failed = false): void {
    const result: Block = { type: "tool_result", tool_use_id: this.#format.callId(callId) };
    const content = this.#content(output, path, result);
    if (content.length > 0) result.content = content;
    if (failed && this.takesFailures) result.is_error = true;
    this.thread.answer(result);
  }

  addReasoning(item: InputItem, path: string): void {
    const block = this.#format.thought(item);
    if (block) this.thread.think({ path, block });
    else this.#translation.onDropped(path, "the provider only reads reasoning that its own models have signed");
  }

  addAgentMessage(head: string, content: unknown, path: string): void {
    this.thread.addUserMessage([textBlock(head), ...this.#content(content, path)]);
  }

  /**
   * Blocks of a content. Blank texts are left out, because the providers answer 400 to them.
   * @param holder the block for the marks of all parts; without one, each block has its own
   */
  #content(content: unknown, path: string, holder?: Block): Block[] {
    if (typeof content === "string") return content.trim() === "" ? [] : [textBlock(content)];
    const blocks: Block[] = [];
    for (const [index, part] of objects(content).entries()) {
      const reference = holder && this.#format.reference?.(part, this.#translation);
      const block = reference ?? this.#format.part(part, `${path}.${index}`, this.#translation);
      if (block.type === "text" && text(block.text).trim() === "") continue;
      blocks.push(block);
      if (isObject(part.cache_control) || isObject(part.prompt_cache_breakpoint)) {
        this.#marks.copy(part, block, `${path}.${index}`, holder);
      }
    }
    return blocks;
  }
}
