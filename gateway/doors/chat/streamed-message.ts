/** A message while it streams: its parts are concatenated in `content` and `refusal`. */
import { codePointLength } from "@sluice/proto/lib/validation/text.js";
import { textOf } from "@sluice/proto/lib/json/text.js";
import { append } from "@sluice/proto/lib/text/append.js";
import { toJsonString } from "../../edge/turns/json.ts";
import type { ChunkText } from "./chunk-text.ts";
import { type Annotation, type OutputItem, annotationJson, contentOf, isRefusal, visibleText } from "./item.ts";

export class StreamedMessage {
  readonly #chunks: ChunkText;
  /** Number of characters of `content` before each part. */
  readonly #offsets: number[] = [];
  /** Number of annotations already written, by part. */
  readonly #annotated: number[] = [];
  #part = -1;
  #isRefusal = false;
  /** Streamed text of the last part. */
  #shown = "";
  #length: number;

  /** @param before the previous message of the answer, whose text precedes this one in `content` */
  constructor(chunks: ChunkText, before: StreamedMessage | undefined) {
    this.#chunks = chunks;
    this.#length = before === undefined ? 0 : before.#whole();
  }

  /** Number of characters of `content` up to the end of the last part. */
  #whole(): number {
    return this.#length + (this.#isRefusal ? 0 : codePointLength(this.#shown));
  }

  text(part: number, delta: string, logprobs: Uint8Array): void {
    if (!this.#reach(part, false)) return;
    this.#shown = append(this.#shown, delta);
    const members = `"content":${toJsonString(delta)}`;
    if (logprobs.length === 0) this.#chunks.delta(members);
    else this.#chunks.probable(members, textOf(logprobs));
  }

  refusal(part: number, delta: string): void {
    if (!this.#reach(part, true)) return;
    this.#shown = append(this.#shown, delta);
    this.#chunks.delta(`"refusal":${toJsonString(delta)}`);
  }

  annotation(part: number, annotation: Annotation): void {
    this.#reach(part, false);
    const offset = this.#offsets[part];
    if (offset === undefined) return;
    this.#annotated[part] = (this.#annotated[part] ?? 0) + 1;
    const json = annotationJson(annotation, offset);
    if (json !== undefined) this.#chunks.delta(`"annotations":[${json}]`);
  }

  /** Writes the text and the annotations that have not been streamed. */
  finish(item: OutputItem): void {
    const parts = contentOf(item);
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index]!;
      const rest = this.#rest(index, visibleText(part));
      if (rest !== "") {
        if (isRefusal(part)) this.refusal(index, rest);
        else this.text(index, rest, noLogprobs);
      }
      const annotations = part.annotations ?? [];
      for (let place = this.#annotated[index] ?? 0; place < annotations.length; place++) {
        this.annotation(index, annotations[place]!);
      }
    }
  }

  /** The part of a complete text that has not been streamed; empty if the text begins differently. */
  #rest(part: number, whole: string): string {
    if (part !== this.#part) return part > this.#part ? whole : "";
    return whole.startsWith(this.#shown) ? whole.slice(this.#shown.length) : "";
  }

  /** Whether text of a part can still be written, which is not so for a part before the last one. Begins the part if it is new. */
  #reach(part: number, refusal: boolean): boolean {
    if (part === this.#part) return refusal === this.#isRefusal;
    if (part < this.#part) return false;
    this.#length = this.#whole();
    this.#part = part;
    this.#isRefusal = refusal;
    this.#shown = "";
    this.#offsets[part] = this.#length;
    return true;
  }
}

const noLogprobs = new Uint8Array();
