/** Responses input as a system prompt and messages. */
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import { type JsonObject, isObject, objects, text } from "../json.ts";
import { type Speech, type ToldCall, argumentsOf, tellInput } from "../teller.ts";
import type { Words } from "../words.ts";
import { callIdOf } from "./call-id.ts";
import type { CacheMarks } from "./cache-marks.ts";
import { messagesPart } from "./parts.ts";
import { thoughtBlock } from "./thoughts.ts";
import { type Block, type Message, Thread, textBlock } from "./thread.ts";

export interface Conversation {
  readonly system: Block[];
  readonly messages: readonly Message[];
}

/** In what formats differ that tell a conversation in such blocks. */
export interface Manner {
  /** @param part one that is not refused */
  part(part: JsonObject, path: string, words: Words): Block;
  callId(callId: unknown): string;
  /** @returns undefined for what the provider would answer 400 to */
  thought(item: InputItem): Block | undefined;
}

const vendors: Manner = { part: messagesPart, callId: callIdOf, thought: thoughtBlock };

export function conversation(
  request: TurnRequest,
  words: Words,
  marks: Pick<CacheMarks, "copy">,
  manner = vendors,
): Conversation {
  const speech = new MessagesSpeech(words, marks, manner);
  const { instructions = "" } = request;
  if (instructions.trim() !== "") speech.system.push(textBlock(instructions));
  tellInput(request.input, words, speech);
  const messages = speech.thread.finish();
  // There has to be something to answer.
  const prompt = messages.length === 0 ? speech.system.pop() : undefined;
  return { system: speech.system, messages: prompt ? [{ role: "user", content: [prompt] }] : messages };
}

class MessagesSpeech implements Speech {
  readonly #words: Words;
  readonly #marks: Pick<CacheMarks, "copy">;
  readonly #manner: Manner;
  readonly system: Block[] = [];
  readonly thread: Thread;

  constructor(words: Words, marks: Pick<CacheMarks, "copy">, manner: Manner) {
    this.#words = words;
    this.#marks = marks;
    this.#manner = manner;
    this.thread = new Thread(words.lose);
  }

  /** What the system says before anybody else is the prompt; later on only the user can speak. */
  ask(item: InputItem, path: string): void {
    const blocks = this.#content(item.content, `${path}.content`);
    if (item.role === "user") return this.thread.ask(blocks);
    if (this.thread.messages.length === 0 && blocks.every(({ type }) => type === "text")) {
      return void this.system.push(...blocks);
    }
    this.#words.lose(`${path}.role`, "sent as the user's: the system speaks in the beginning only");
    this.thread.ask(blocks);
  }

  say(item: InputItem, path: string): void {
    this.thread.say(this.#content(item.content, `${path}.content`));
  }

  call({ callId, name, argumentsJson }: ToldCall): void {
    this.thread.say([{ type: "tool_use", id: this.#manner.callId(callId), name, input: argumentsOf(argumentsJson) }]);
  }

  answer(callId: unknown, output: unknown, path: string): void {
    const content = this.#content(output, path);
    this.thread.answer({ tool_use_id: this.#manner.callId(callId), ...(content.length > 0 && { content }) });
  }

  think(item: InputItem, path: string): void {
    const block = this.#manner.thought(item);
    if (block) this.thread.think({ path, block });
    else this.#words.lose(path, "the provider reads only reasoning that its own family has signed");
  }

  forward(head: string, content: unknown, path: string): void {
    this.thread.ask([textBlock(head), ...this.#content(content, path)]);
  }

  /** Blank texts are a 400 there. */
  #content(content: unknown, path: string): Block[] {
    if (typeof content === "string") return content.trim() === "" ? [] : [textBlock(content)];
    const blocks: Block[] = [];
    for (const [index, part] of objects(content).entries()) {
      const block = this.#manner.part(part, `${path}.${index}`, this.#words);
      if (block.type === "text" && text(block.text).trim() === "") continue;
      blocks.push(block);
      if (isObject(part.cache_control) || isObject(part.prompt_cache_breakpoint)) {
        this.#marks.copy(part, block, `${path}.${index}`);
      }
    }
    return blocks;
  }
}
