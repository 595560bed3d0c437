/**
 * Sets cache marks in formats made of blocks. The request's own marks stay where they are; `cache_control` of the whole
 * request puts marks on the blocks with which most can be saved
 * (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
 */
import type { TurnRequest } from "../../../../turn/request.ts";
import type { OnDropped, Refusal } from "../../dialect.ts";
import { type JsonObject, isObject, text } from "../../json.ts";
import type { WrittenCall } from "../conversation.ts";
import { findCacheMark, findSpecialInputs } from "../special-inputs.ts";
import type { SentTool } from "../names/tool-names.ts";
import type { Block, BlockMessage } from "./message-list.ts";

/** Maximum number of marks: Anthropic answers 400 to a fifth. */
const maxMarks = 4;

/** Type of the block for a file the provider converts to text before the model reads it. */
export const extractedDocument = "extracted_document";

/** Number of blocks in front of a mark in which the provider looks for a cached beginning. */
const lookback = 20;
/** Minimum characters in front of a first question that are worth caching: about a thousand tokens. */
const stableCharacters = 4_096;

/** Refuses a request with too many marks. Leaving some out would cost the caller money. */
export function refuseCacheMarks({ input, tools }: Pick<TurnRequest, "input" | "tools">): Refusal | undefined {
  let marks = tools.filter((tool) => "cacheControl" in tool && tool.cacheControl !== undefined).length;
  for (const { path, part, item } of findSpecialInputs(input)) {
    const mark = findCacheMark(part ?? item);
    if (mark !== undefined && ++marks > maxMarks) {
      return { path: `${path}.${mark}`, message: `no provider of this model takes more than ${maxMarks} marks` };
    }
  }
  return undefined;
}

export class CacheMarks {
  readonly #onDropped: OnDropped;
  readonly #paths = new Map<Block, string>();

  constructor(onDropped: OnDropped) {
    this.#onDropped = onDropped;
  }

  /**
   * Copies the mark of a part to a block.
   * @param to the block sent for the part
   * @param holder the block that gets the mark, if it is another one: the provider answers 400 to marks inside of a
   * tool result
   */
  copy(from: JsonObject, to: Block, path: string, holder = to): void {
    const control = isObject(from.cache_control) ? from.cache_control : undefined;
    const at = `${path}.${control ? "cache_control" : "prompt_cache_breakpoint"}`;
    if (!cacheable(to)) return this.#onDropped(at, "a mark cannot follow a file of this type");
    holder.cache_control = marked(control?.ttl);
    this.#paths.set(holder, at);
  }

  /** Copies the mark of a call to its block. */
  copyCall({ mark }: WrittenCall, to: Block): void {
    if (mark) this.copy({ cache_control: mark.control }, to, mark.path);
  }

  /** Copies the marks of tools. @param blocks the blocks sent for the tools, one for each */
  copyTools(tools: readonly SentTool[], blocks: readonly Block[]): void {
    for (const [index, { tool, path }] of tools.entries()) {
      if (tool.cacheControl) this.copy({ cache_control: tool.cacheControl }, blocks[index] as Block, path);
    }
  }

  /** Sets the marks for the whole request, as far as the maximum allows. */
  finish(
    control: TurnRequest["cacheControl"],
    tools: readonly Block[],
    system: readonly Block[],
    messages: readonly BlockMessage[],
  ): void {
    if (control) {
      const free = places(tools, system, messages).filter((block) => block.cache_control === undefined);
      for (const block of free.slice(0, Math.max(0, maxMarks - this.#paths.size))) {
        block.cache_control = marked(control.ttl);
        this.#paths.set(block, "cache_control");
      }
    }
    if (this.#paths.size > 1) this.#order([...tools, ...system, ...messages.flatMap(({ content }) => content)]);
  }

  /** Adjusts lifetimes. Marks with a longer lifetime must come first, so the lifetime of a mark after a shorter one is reduced. */
  #order(blocks: readonly Block[]): void {
    let short = false;
    for (const block of blocks) {
      if (!isObject(block.cache_control)) continue;
      const long = block.cache_control.ttl === "1h";
      if (short && long) {
        block.cache_control = marked("5m");
        this.#onDropped(
          `${this.#paths.get(block) ?? "cache_control"}.ttl`,
          "sent as 5m: a mark before it lasts no longer",
        );
      }
      short ||= !long;
    }
  }
}

/** The value of a mark; without a lifetime of an hour, the default of five minutes applies. */
const marked = (ttl: unknown): JsonObject => ({ type: "ephemeral", ...(ttl === "1h" && { ttl }) });

/** Blocks where a mark saves most, best first, without duplicates. */
function places(
  tools: readonly Block[],
  system: readonly Block[],
  messages: readonly BlockMessage[],
): readonly Block[] {
  const blocks = messages.flatMap(({ content }) => content);
  const users = messages.filter(({ role }) => role === "user");
  const end = endOf(messages);
  const before = lastOf(users.at(-2));
  const distance = end ? blocks.indexOf(end) - (before ? blocks.indexOf(before) : 0) : 0;
  const between = end && distance > lookback - 2 ? blocks[blocks.indexOf(end) - (lookback - 2)] : undefined;
  const wanted = [end, system.at(-1) ?? tools.at(-1), before, between && cacheable(between) ? between : undefined];
  return [...new Set(wanted.filter((block) => block !== undefined))];
}

/**
 * The block at the end that gets a mark. The last block changes with every turn. In a first message, the material gets
 * the mark instead of the question after it, which changes more often.
 */
function endOf(messages: readonly BlockMessage[]): Block | undefined {
  const [only, ...others] = messages;
  const about = others.length === 0 ? only?.content.slice(0, -1) : undefined;
  const question = only?.content.at(-1)?.type === "text";
  const large = about !== undefined && about.reduce((sum, block) => sum + sizeOf(block), 0) >= stableCharacters;
  return question && large ? about.findLast(cacheable) : lastOf(messages.at(-1));
}

const lastOf = (message: BlockMessage | undefined): Block | undefined => message?.content.findLast(cacheable);

/** Whether a block can have a mark. Reasoning cannot, nor a file the provider converts to text, as Bedrock does. */
const cacheable = ({ type }: Partial<Block>): boolean =>
  // A function is sent without a type.
  type === undefined || (!type.endsWith("thinking") && type !== extractedDocument);

/** Characters of a block. A file given only by reference counts as large. */
function sizeOf(block: Block): number {
  if (block.type === "text") return text(block.text).length;
  const source = isObject(block.source) ? block.source : {};
  return typeof source.data === "string" ? source.data.length : stableCharacters;
}
