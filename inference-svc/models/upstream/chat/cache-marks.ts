/** Sets cache marks in both forms known to servers of chat completions: `prompt_cache_breakpoint` and `cache_control`. */
import type { TurnRequest } from "../../../turn/request.ts";
import { type JsonObject, isObject } from "../json.ts";
import { type TranslationContext, supportsParameter } from "../translate/context.ts";

/** Maximum number of marks; providers with `cache_control` take no more. */
const maxMarks = 4;

export type MarkedPart = { [field: string]: unknown };

export class ChatCacheMarks {
  readonly #translation: TranslationContext;
  readonly #controls: boolean;
  readonly #marked: { readonly part: MarkedPart; readonly path: string }[] = [];

  /** Number of marks on tools, which are sent before the messages. */
  readonly #onTools: number;

  constructor(translation: TranslationContext) {
    this.#translation = translation;
    this.#onTools = translation.tools.list.filter(({ tool }) => tool.cacheControl !== undefined).length;
    this.#controls = supportsParameter(translation.target, "cache_control");
  }

  /** Whether any part has a mark, or had one that was removed. */
  get any(): boolean {
    return this.#marked.length > 0;
  }

  /** Copies the mark of a part, if it has one, to the part sent. */
  copy(from: JsonObject, to: MarkedPart, path: string): void {
    const { cache_control: control, prompt_cache_breakpoint: breakpoint } = from;
    if (isObject(breakpoint)) this.#breakpoint(breakpoint, to, path);
    if (!isObject(control)) return;
    if (!this.#controls) this.#translation.onDropped(`${path}.cache_control`, "the endpoint does not support it");
    else this.#mark(to, control, `${path}.cache_control`);
  }

  #breakpoint(breakpoint: JsonObject, to: MarkedPart, path: string): void {
    if (this.#translation.target.original) to.prompt_cache_breakpoint = breakpoint;
    else if (this.#controls) this.#mark(to, { type: "ephemeral" }, `${path}.prompt_cache_breakpoint`);
    else this.#translation.onDropped(`${path}.prompt_cache_breakpoint`, "the endpoint does not support it");
  }

  #mark(part: MarkedPart, control: JsonObject, path: string): void {
    if (part.cache_control === undefined) this.#marked.push({ part, path });
    part.cache_control = control;
  }

  /**
   * Puts the mark of the whole request on the last block. When there are too many marks, the last ones stay, because
   * they cover the longest beginning.
   */
  finish(control: TurnRequest["cacheControl"], messages: readonly MarkedPart[]): void {
    if (!control && this.#marked.length === 0) return;
    if (control && !this.#controls) this.#translation.onDropped("cache_control", "the endpoint does not support it");
    const last = control && this.#controls ? lastBlock(messages) : undefined;
    if (control && last)
      this.#mark(last, { type: "ephemeral", ...(control.ttl === "1h" && { ttl: "1h" }) }, "cache_control");
    const kept = Math.max(0, maxMarks - this.#onTools);
    for (const { part, path } of kept === 0 ? this.#marked : this.#marked.slice(0, -kept)) {
      delete part.cache_control;
      this.#translation.onDropped(path, `at most ${maxMarks} marks are sent, the last ones`);
    }
  }
}

/** The last block that can have a mark. A string becomes a text part to make room for the mark. */
function lastBlock(messages: readonly MarkedPart[]): MarkedPart | undefined {
  const message = messages.findLast(
    ({ content }) => Array.isArray(content) || (typeof content === "string" && content !== ""),
  );
  if (message && typeof message.content === "string") message.content = [{ type: "text", text: message.content }];
  return message && (message.content as MarkedPart[]).at(-1);
}
