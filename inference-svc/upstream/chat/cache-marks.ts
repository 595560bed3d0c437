/** Marks up to which a provider may cache, in the two forms that there are: `prompt_cache_breakpoint` and `cache_control`. */
import type { TurnRequest } from "../../turn/request.ts";
import { type JsonObject, isObject } from "../json.ts";
import { type Words, supports } from "../words.ts";

/** Providers with cache_control take no more. */
const maxMarks = 4;

export type MarkedPart = { [field: string]: unknown };

export class CacheMarks {
  readonly #words: Words;
  readonly #controls: boolean;
  readonly #marked: { readonly part: MarkedPart; readonly path: string }[] = [];

  constructor(words: Words) {
    this.#words = words;
    this.#controls = supports(words.target, "cache_control");
  }

  /** Puts the mark of a part, if it has one, on what is sent for it. */
  copy(from: JsonObject, to: MarkedPart, path: string): void {
    const { cache_control: control, prompt_cache_breakpoint: breakpoint } = from;
    if (isObject(breakpoint)) this.#breakpoint(breakpoint, to, path);
    if (!isObject(control)) return;
    if (!this.#controls) this.#words.lose(`${path}.cache_control`, "the endpoint does not support it");
    else this.#mark(to, control, `${path}.cache_control`);
  }

  #breakpoint(breakpoint: JsonObject, to: MarkedPart, path: string): void {
    if (this.#words.target.original) to.prompt_cache_breakpoint = breakpoint;
    else if (this.#controls) this.#mark(to, { type: "ephemeral" }, `${path}.prompt_cache_breakpoint`);
    else this.#words.lose(`${path}.prompt_cache_breakpoint`, "the endpoint does not support it");
  }

  #mark(part: MarkedPart, control: JsonObject, path: string): void {
    if (part.cache_control === undefined) this.#marked.push({ part, path });
    part.cache_control = control;
  }

  /** The mark of the request stands at the last block. Of too many marks the last ones count: they cover the most. */
  finish(control: TurnRequest["cacheControl"], messages: readonly MarkedPart[]): void {
    if (control && !this.#controls) this.#words.lose("cache_control", "the endpoint does not support it");
    const last = control && this.#controls ? lastBlock(messages) : undefined;
    if (control && last)
      this.#mark(last, { type: "ephemeral", ...(control.ttl === "1h" && { ttl: "1h" }) }, "cache_control");
    for (const { part, path } of this.#marked.slice(0, -maxMarks)) {
      delete part.cache_control;
      this.#words.lose(path, `at most ${maxMarks} marks are sent, the last ones`);
    }
  }
}

/** A text that was a string becomes a part, so that it can be marked. */
function lastBlock(messages: readonly MarkedPart[]): MarkedPart | undefined {
  const message = messages.findLast(
    ({ content }) => Array.isArray(content) || (typeof content === "string" && content !== ""),
  );
  if (message && typeof message.content === "string") message.content = [{ type: "text", text: message.content }];
  return message && (message.content as MarkedPart[]).at(-1);
}
