/**
 * Marks up to which the provider caches: those of the request as they stand, and for `cache_control` of the whole request those that pay
 * most (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
 */
import type { InputItem, TurnRequest } from "../../turn/request.ts";
import type { Lose, Refusal } from "../dialect.ts";
import { type JsonObject, isObject, text } from "../json.ts";
import { cacheMarkOf, notableIn } from "../notable.ts";
import type { Block, Message } from "./thread.ts";

/** A fifth is a 400. */
const maxMarks = 4;

/** The type of a file that its provider turns into text before the model sees it. */
export const extracted = "extracted_document";

/** A prefix is looked for so many blocks before a mark. */
const lookback = 20;
/** About the thousand tokens that are worth caching: what comes before a first question. */
const stableCharacters = 4_096;

/** Marks of the caller's own are not sent for some of them only. */
export function markRefusal(input: readonly InputItem[]): Refusal | undefined {
  let marks = 0;
  for (const { path, part } of notableIn(input)) {
    const mark = part && cacheMarkOf(part);
    if (mark !== undefined && ++marks > maxMarks) {
      return { path: `${path}.${mark}`, message: `no provider of this model takes more than ${maxMarks} marks` };
    }
  }
  return undefined;
}

export class CacheMarks {
  readonly #lose: Lose;
  readonly #paths = new Map<Block, string>();

  constructor(lose: Lose) {
    this.#lose = lose;
  }

  /** Puts the mark of a part on what is sent for it. */
  copy(from: JsonObject, to: Block, path: string): void {
    const control = isObject(from.cache_control) ? from.cache_control : undefined;
    const at = `${path}.${control ? "cache_control" : "prompt_cache_breakpoint"}`;
    if (!cacheable(to)) return this.#lose(at, "a mark cannot follow such a file");
    to.cache_control = marked(control?.ttl);
    this.#paths.set(to, at);
  }

  /** Adds the marks of the request, where there is room. */
  finish(
    control: TurnRequest["cacheControl"],
    tools: readonly Block[],
    system: readonly Block[],
    messages: readonly Message[],
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

  /** What lasts longer has to come first. */
  #order(blocks: readonly Block[]): void {
    let short = false;
    for (const block of blocks.flatMap((outer) => [...innerOf(outer), outer])) {
      if (!isObject(block.cache_control)) continue;
      const long = block.cache_control.ttl === "1h";
      if (short && long) {
        block.cache_control = marked("5m");
        this.#lose(`${this.#paths.get(block) ?? "cache_control"}.ttl`, "sent as 5m: a mark before it holds no longer");
      }
      short ||= !long;
    }
  }
}

/** Five minutes are the default. */
const marked = (ttl: unknown): JsonObject => ({ type: "ephemeral", ...(ttl === "1h" && { ttl }) });

const innerOf = ({ type, content }: Block): readonly Block[] =>
  type === "tool_result" && Array.isArray(content) ? (content as readonly Block[]) : [];

/** Best first, each once. */
function places(tools: readonly Block[], system: readonly Block[], messages: readonly Message[]): readonly Block[] {
  const blocks = messages.flatMap(({ content }) => content);
  const users = messages.filter(({ role }) => role === "user");
  const end = endOf(messages);
  const before = lastOf(users.at(-2));
  const distance = end ? blocks.indexOf(end) - (before ? blocks.indexOf(before) : 0) : 0;
  const between = end && distance > lookback - 2 ? blocks[blocks.indexOf(end) - (lookback - 2)] : undefined;
  const wanted = [end, system.at(-1) ?? tools.at(-1), before, between && cacheable(between) ? between : undefined];
  return [...new Set(wanted.filter((block) => block !== undefined))];
}

/** The end moves on with every turn. A first question changes more often than what it is about. */
function endOf(messages: readonly Message[]): Block | undefined {
  const [only, ...others] = messages;
  const about = others.length === 0 ? only?.content.slice(0, -1) : undefined;
  const question = only?.content.at(-1)?.type === "text";
  const large = about !== undefined && about.reduce((sum, block) => sum + sizeOf(block), 0) >= stableCharacters;
  return question && large ? about.findLast(cacheable) : lastOf(messages.at(-1));
}

const lastOf = (message: Message | undefined): Block | undefined => message?.content.findLast(cacheable);

/** No mark may follow a thought, or a file that the provider turns into text (as Amazon Bedrock does). */
const cacheable = ({ type }: Block): boolean => !type.endsWith("thinking") && type !== extracted;

/** What is only referred to is large. */
function sizeOf(block: Block): number {
  if (block.type === "text") return text(block.text).length;
  const source = isObject(block.source) ? block.source : {};
  return typeof source.data === "string" ? source.data.length : stableCharacters;
}
