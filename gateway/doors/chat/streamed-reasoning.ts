/** Reasoning while it streams: written as text, and as entries of `reasoning_details` for clients to send back. */
import { append } from "@sluice/proto/lib/text/append.js";
import { toJsonString } from "../../edge/turns/json.ts";
import type { ChunkText } from "./chunk-text.ts";
import { type ReasoningPosition, detailJson, toPositionedId, encryptedReasoningJson } from "./details.ts";
import { type OutputItem, contentOf, summariesOf, visibleText } from "./item.ts";
import { reasoningPartSeparator } from "./whole-reasoning.ts";

type Kind = "reasoning.text" | "reasoning.summary";

export class StreamedReasoning {
  readonly #chunks: ChunkText;
  readonly #id: string;
  /** The reasoning item at its beginning, with its format but still without signature. */
  readonly #begun: OutputItem;
  /** Index of the last entry written to `reasoning_details`. */
  #index: number;
  #kind: Kind | undefined = undefined;
  #part = -1;
  /** Streamed text of the last part. */
  #shown = "";
  /** Index of the last entry with raw reasoning in `reasoning_details`. */
  #textIndex: number | undefined = undefined;

  /** @param before the previous reasoning of the answer @param place position of the reasoning in the answer */
  constructor(chunks: ChunkText, item: OutputItem, before: StreamedReasoning | undefined, place: ReasoningPosition) {
    this.#chunks = chunks;
    this.#id = toPositionedId(item.id, place);
    this.#begun = { ...item, format: item.format ?? "unknown", signature: null };
    this.#index = before === undefined ? -1 : before.#index;
  }

  text(part: number, delta: string): void {
    this.#grow("reasoning.text", part, delta);
  }

  summary(part: number, delta: string): void {
    this.#grow("reasoning.summary", part, delta);
  }

  /** Writes the text that has not been streamed, and then the data that the provider needs to recognize its reasoning. */
  finish(item: OutputItem): void {
    const contents = contentOf(item);
    this.#finishParts("reasoning.summary", summariesOf(item).map(visibleText));
    this.#finishParts("reasoning.text", contents.map(visibleText));
    const sealed = encryptedReasoningJson(item, contents.length > 0);
    if (contents.length > 0) {
      if (item.signature || item.format) this.#seal("reasoning.text", "", this.#textIndex ?? ++this.#index, item);
    } else if (sealed === "" && item.signature) this.#seal("reasoning.text", "", ++this.#index, item);
    if (sealed !== "") this.#seal("reasoning.encrypted", sealed, ++this.#index, item);
  }

  #finishParts(kind: Kind, wholes: readonly string[]): void {
    for (let part = 0; part < wholes.length; part++) {
      const rest = this.#rest(kind, part, wholes[part]!);
      if (rest !== "") this.#grow(kind, part, rest);
    }
  }

  #rest(kind: Kind, part: number, whole: string): string {
    if (kind === this.#kind && part === this.#part) {
      return whole.startsWith(this.#shown) ? whole.slice(this.#shown.length) : "";
    }
    return this.#canBegin(kind, part) ? whole : "";
  }

  /** Whether a part can follow the parts so far: raw reasoning may follow a summary, and a part only parts with lower numbers. */
  #canBegin(kind: Kind, part: number): boolean {
    return kind === this.#kind ? part > this.#part : this.#kind === undefined || kind === "reasoning.text";
  }

  #grow(kind: Kind, part: number, delta: string): void {
    let shown = delta;
    if (kind !== this.#kind || part !== this.#part) {
      if (!this.#canBegin(kind, part)) return;
      this.#begin(kind, part);
      // Every part except the answer's first begins a new paragraph.
      if (this.#index > 0) shown = reasoningPartSeparator + delta;
    }
    this.#shown = append(this.#shown, delta);
    const detail = detailJson(kind, delta, this.#id, this.#index, this.#begun);
    this.#chunks.delta(`"reasoning":${toJsonString(shown)},"reasoning_details":[${detail}]`);
  }

  #begin(kind: Kind, part: number): void {
    this.#kind = kind;
    this.#part = part;
    this.#shown = "";
    this.#index++;
    if (kind === "reasoning.text") this.#textIndex = this.#index;
  }

  #seal(kind: Parameters<typeof detailJson>[0], text: string, index: number, item: OutputItem): void {
    this.#chunks.delta(`"reasoning_details":[${detailJson(kind, text, this.#id, index, item)}]`);
  }
}
