/** A call for the client while it streams: its id and name come first, then pieces of its arguments. */
import { append } from "@sluice/proto/lib/text/append.js";
import { toJsonString } from "../../edge/turns/json.ts";
import type { ChunkText } from "./chunk-text.ts";
import type { OutputItem } from "./item.ts";

export class StreamedCall {
  readonly #chunks: ChunkText;
  /** The members of a delta before a piece of the arguments; `#after` has those after it. */
  readonly #before: string;
  readonly #after: string;
  readonly #isCustom: boolean;
  #shown = "";

  /** @param number number of the call in the answer, from 0 @param old whether calls have the form of the deprecated `functions` */
  constructor(chunks: ChunkText, item: OutputItem, number: number, old: boolean) {
    const { type, call_id: id = "", name = "" } = item;
    this.#chunks = chunks;
    this.#isCustom = type === "custom_tool_call";
    const kind = this.#isCustom ? "custom" : "function";
    const field = this.#isCustom ? "input" : "arguments";
    const index = `"tool_calls":[{"index":${number}`;
    this.#before = old ? '"function_call":{"arguments":' : `${index},"${kind}":{"${field}":`;
    this.#after = old ? "}" : "}}]";
    const named = `{"name":${toJsonString(name)},"${field}":""}`;
    chunks.delta(
      old ? `"function_call":${named}` : `${index},"id":${toJsonString(id)},"type":"${kind}","${kind}":${named}}]`,
    );
  }

  grow(delta: string): void {
    if (delta === "") return;
    this.#shown = append(this.#shown, delta);
    this.#chunks.delta(this.#before + toJsonString(delta) + this.#after);
  }

  /** Writes the text of the call that has not been streamed. */
  finish({ arguments: written, input }: OutputItem): void {
    const whole = (this.#isCustom ? input : written) ?? "";
    if (whole.startsWith(this.#shown)) this.grow(whole.slice(this.#shown.length));
  }
}
