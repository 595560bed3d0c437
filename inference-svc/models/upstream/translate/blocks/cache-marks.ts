/**
 * Cache marks for block formats. The request's own marks stay where they are; `cache_control` of the whole request puts marks on the blocks
 * where they save most (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
 */
import type { TurnRequest } from "../../../../turn/request.ts";
import type { OnDropped, Refusal } from "../../dialect.ts";
import { type JsonObject, isObject, text } from "../../json.ts";
import type { WrittenCall } from "../conversation.ts";
import { findCacheMark, findSpecialInputs } from "../special-inputs.ts";
import type { SentTool } from "../names/tool-names.ts";
import type { Block, BlockMessage } from "./message-list.ts";

/** Anthropic answers 400 to a fifth mark. */
const maxMarks = 4;

/** Block type of a file converted to text by the provider before the model reads it. */
export const extractedDocument = "extracted_document";

/** The provider searches this many blocks before a mark for a cached prefix. */
const lookback = 20;
/** About a thousand tokens, the minimum worth caching in front of a first question. */
const stableCharacters = 4_096;

/** Refuses too many marks, because leaving some out would cost the caller money. */
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
   * Puts the mark of a part on a block.
   * @param to the block sent for the part
   * @param holder the block for the mark, if it is another: the provider answers 400 to marks inside of a tool result
   */
  copy(from: JsonObject, to: Block, path: string, holder = to): void {
    const control = isObject(from.cache_control) ? from.cache_control : undefined;
    const at = `${path}.${control ? "cache_control" : "prompt_cache_breakpoint"}`;
    if (!cacheable(to)) return this.#onDropped(at, "a mark cannot follow a file of this type");
    holder.cache_control = marked(control?.ttl);
    this.#paths.set(holder, at);
  }

  /** Puts the mark of a call on its block. */
  copyCall({ mark }: WrittenCall, to: Block): void {
    if (mark) this.copy({ cache_control: mark.control }, to, mark.path);
  }

  /** @param blocks sent for the tools, one for each */
  copyTools(tools: readonly SentTool[], blocks: readonly Block[]): void {
    for (const [index, { tool, path }] of tools.entries()) {
      if (tool.cacheControl) this.copy({ cache_control: tool.cacheControl }, blocks[index] as Block, path);
    }
  }

  /** Adds the marks for the whole request as far as there is room. */
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

  /** Longer lifetimes must come first, so the lifetime of a mark after a shorter one is reduced. */
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

/** The default lifetime is five minutes. */
const marked = (ttl: unknown): JsonObject => ({ type: "ephemeral", ...(ttl === "1h" && { ttl }) });

/** Blocks worth a mark, best first, without duplicates. */
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
 * The last block moves on with every turn. In a first message, the material is marked and not the question after it, which changes more
 * often.
 */
function endOf(messages: readonly BlockMessage[]): Block | undefined {
  const [only, ...others] = messages;
  const about = others.length === 0 ? only?.content.slice(0, -1) : undefined;
  const question = only?.content.at(-1)?.type === "text";
  const large = about !== undefined && about.reduce((sum, block) => sum + sizeOf(block), 0) >= stableCharacters;
  return question && large ? about.findLast(cacheable) : lastOf(messages.at(-1));
}

const lastOf = (message: BlockMessage | undefined): Block | undefined => message?.content.findLast(cacheable);

/** A mark must not follow reasoning, nor a file converted to text by the provider (Bedrock does so). */
const cacheable = ({ type }: Partial<Block>): boolean =>
  // A function is sent without a type.
  type === undefined || (!type.endsWith("thinking") && type !== extractedDocument);

/** A file given only by reference counts as large. */
function sizeOf(block: Block): number {
  if (block.type === "text") return text(block.text).length;
  const source = isObject(block.source) ? block.source : {};
  return typeof source.data === "string" ? source.data.length : stableCharacters;
}
