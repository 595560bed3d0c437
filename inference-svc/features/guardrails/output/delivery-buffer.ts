/** Holds back the text of several parts and delivers it in order, part by part. Callbacks can be placed between parts. */
import { append } from "@sluice/proto/lib/text/append.js";
import type { Region } from "../../../turn/replacements.ts";
import type { TextPart } from "./text-part.ts";

interface DeliveryCallback {
  readonly at: number;
  readonly run: () => void;
}

export class DeliveryBuffer {
  /** The last part that has text, and the parts after it. */
  #parts: TextPart[] = [];
  #held = "";
  readonly #callbacks: DeliveryCallback[] = [];
  /** Place of the first character that is not delivered. */
  start = 0;

  /** UTF-16 units held back. */
  get held(): number {
    return this.#held.length;
  }

  get length(): number {
    return this.start + this.#held.length;
  }

  /** Assigns all text appended from now on to the part. */
  begin(part: TextPart): void {
    part.start = this.length;
    this.#parts.push(part);
  }

  append(text: string): void {
    this.#held = append(this.#held, text);
  }

  /** Calls `run` once all text appended so far is delivered. */
  afterDelivery(run: () => void): void {
    if (this.#held === "") run();
    else this.#callbacks.push({ at: this.length, run });
  }

  /**
   * The place up to which text may be delivered without cutting a surrogate pair: one less than `decided` when the
   * second half may still come.
   */
  toWholeCharacter(decided: number, over: boolean): number {
    const last = this.#held.charCodeAt(decided - this.start - 1);
    const half = last >= 0xd800 && last <= 0xdbff && !(over && decided === this.length);
    return half ? decided - 1 : decided;
  }

  /** Drops delivered text before a place. @returns whether there was any */
  discard(until: number): boolean {
    if (until <= this.start) return false;
    this.#held = this.#held.slice(until - this.start);
    this.start = until;
    return true;
  }

  /** Delivers the text between two places to its parts, and runs the callbacks placed there. */
  deliver(start: number, end: number): void {
    for (let at = start; at < end; ) {
      const part = this.#partAt(at);
      const next = this.#parts[1]?.start ?? Number.POSITIVE_INFINITY;
      const note = this.#callbacks[0]?.at ?? Number.POSITIVE_INFINITY;
      const until = Math.min(end, next, note > at ? note : Number.POSITIVE_INFINITY);
      this.#deliverTo(part, this.#held.slice(at - this.start, until - this.start));
      at = until;
      this.#runCallbacks(at);
    }
  }

  replace({ start, end, placeholder }: Region): void {
    for (let at = start; at < end; ) {
      const part = this.#partAt(at);
      const next = this.#parts[1]?.start ?? Number.POSITIVE_INFINITY;
      const until = Math.min(end, next);
      const text = at === start ? placeholder : "";
      const from = part.start ?? 0;
      part.replacements.push({ start: at - from, end: until - from, placeholder: text });
      this.#deliverTo(part, text);
      at = until;
    }
    this.#runCallbacks(end);
  }

  #deliverTo(part: TextPart, text: string): void {
    if (text === "") return;
    part.delivered = append(part.delivered, text);
    part.deliver(text);
  }

  #partAt(position: number): TextPart {
    while ((this.#parts[1]?.start ?? Number.POSITIVE_INFINITY) <= position) this.#parts.shift();
    return this.#parts[0] as TextPart;
  }

  #runCallbacks(position: number): void {
    while ((this.#callbacks[0]?.at ?? Number.POSITIVE_INFINITY) <= position) this.#callbacks.shift()?.run();
  }
}
