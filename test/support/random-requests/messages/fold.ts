/** Reads messages in Anthropic's format, complete or as events, as a client does. */
import { validate } from "../../answers/published.ts";
import { parseSse } from "../../answers/sse.ts";

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly thinking?: string;
  readonly name?: string;
  readonly input?: unknown;
}

interface Message {
  readonly content: readonly Block[];
  readonly stop_reason: string | null;
}

interface MessageEvent {
  readonly type: string;
  readonly index?: number;
  readonly message?: Message;
  readonly content_block?: Block;
  readonly delta?: {
    readonly text?: string;
    readonly thinking?: string;
    readonly partial_json?: string;
    readonly stop_reason?: string | null;
  };
}

/** @throws if the value does not match its schema */
function hold(schema: string, value: unknown): void {
  const problems = validate(schema, value);
  if (problems.length > 0) throw new Error(`unlike ${schema}: ${problems.slice(0, 3).join("; ")}`);
}

/** Inputs of calls are compared as values, since their bytes may be written anew. */
const textOf = ({ type, text = "", thinking = "", name, input }: Block): string =>
  name === undefined ? `${type}:${text}${thinking}` : `${type}:${name}${JSON.stringify(input ?? {})}`;

export function foldMessage(json: string): readonly string[] {
  const message = JSON.parse(json) as Message;
  hold("MessagesMessage", message);
  return [...message.content.map(textOf), message.stop_reason ?? ""];
}

export function foldMessageEvents(text: string): readonly string[] {
  const { events, done } = parseSse(text);
  if (done) throw new Error("[DONE] in a stream of messages");
  const stream = events as unknown as readonly MessageEvent[];
  if (stream[0]?.type !== "message_start" || stream.at(-1)?.type !== "message_stop")
    throw new Error(`a stream without its beginning or end: ${stream.map(({ type }) => type).join(" ")}`);
  const blocks = new Blocks();
  for (const event of stream) {
    hold("MessagesMessageEvent", event);
    blocks.take(event);
  }
  return blocks.told();
}

class Blocks {
  readonly #blocks: { block: Block; text: string; thinking: string; json: string }[] = [];
  /** Number of the open block; undefined between blocks. */
  #open: number | undefined = undefined;
  #stopReason = "";

  take({ type, index, content_block: block, delta }: MessageEvent): void {
    if (type === "content_block_start") {
      if (this.#open !== undefined || index !== this.#blocks.length)
        throw new Error(`block ${index} begins at a wrong place`);
      this.#open = index;
      this.#blocks.push({ block: block as Block, text: block?.text ?? "", thinking: block?.thinking ?? "", json: "" });
    }
    if (type === "content_block_delta" || type === "content_block_stop") {
      if (this.#open === undefined || index !== this.#open) throw new Error(`block ${index} goes on at a wrong place`);
      const open = this.#blocks[this.#open]!;
      open.text += delta?.text ?? "";
      open.thinking += delta?.thinking ?? "";
      open.json += delta?.partial_json ?? "";
      if (type === "content_block_stop") this.#open = undefined;
    }
    if (type === "message_delta") this.#stopReason = delta?.stop_reason ?? "";
  }

  told(): string[] {
    const told = this.#blocks.map(({ block, text, thinking, json }) => {
      const input: unknown = json === "" ? block.input : JSON.parse(json);
      return textOf({ ...block, text, thinking, input });
    });
    return [...told, this.#stopReason];
  }
}
