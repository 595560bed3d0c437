/** Text of several parts on its way out: held from a place on, and delivered to its parts, with what is to happen in between. */
import type { Region } from "../../turn/replaced.ts";
import type { Part } from "./part.ts";

interface Note {
  readonly at: number;
  readonly pass: () => void;
}

export class Outlet {
  /** The part to which something was delivered last, and those behind it. */
  #parts: Part[] = [];
  #held = "";
  readonly #notes: Note[] = [];
  /** Place of the first character that was not delivered. */
  from = 0;

  /** UTF-16 units that are held back. */
  get held(): number {
    return this.#held.length;
  }

  get length(): number {
    return this.from + this.#held.length;
  }

  /** Text that is held from here on belongs to the part. */
  begin(part: Part): void {
    part.start = this.length;
    this.#parts.push(part);
  }

  hold(text: string): void {
    this.#held += text;
  }

  /** Calls back once everything that came before is delivered. */
  note(pass: () => void): void {
    if (this.#held === "") pass();
    else this.#notes.push({ at: this.length, pass });
  }

  /** Not between the halves of a character: the second may not have come. */
  whole(decided: number, over: boolean): number {
    const last = this.#held.charCodeAt(decided - this.from - 1);
    const half = last >= 0xd800 && last <= 0xdbff && !(over && decided === this.length);
    return half ? decided - 1 : decided;
  }

  /** @returns whether anything is forgotten: all before the place was delivered */
  drop(until: number): boolean {
    if (until <= this.from) return false;
    this.#held = this.#held.slice(until - this.from);
    this.from = until;
    return true;
  }

  /** Delivers the text between two places, part by part, and the notes that stand in it. */
  pass(start: number, end: number): void {
    for (let at = start; at < end; ) {
      const part = this.#partAt(at);
      const next = this.#parts[1]?.start ?? Number.POSITIVE_INFINITY;
      const note = this.#notes[0]?.at ?? Number.POSITIVE_INFINITY;
      const until = Math.min(end, next, note > at ? note : Number.POSITIVE_INFINITY);
      this.#say(part, this.#held.slice(at - this.from, until - this.from));
      at = until;
      this.#passNotes(at);
    }
  }

  replace({ start, end, placeholder }: Region): void {
    for (let at = start; at < end; ) {
      const part = this.#partAt(at);
      const next = this.#parts[1]?.start ?? Number.POSITIVE_INFINITY;
      const until = Math.min(end, next);
      const text = at === start ? placeholder : "";
      const from = part.start ?? 0;
      part.replaced.push({ start: at - from, end: until - from, placeholder: text });
      this.#say(part, text);
      at = until;
    }
    this.#passNotes(end);
  }

  #say(part: Part, text: string): void {
    if (text === "") return;
    part.shown += text;
    part.deliver(text);
  }

  #partAt(position: number): Part {
    while ((this.#parts[1]?.start ?? Number.POSITIVE_INFINITY) <= position) this.#parts.shift();
    return this.#parts[0] as Part;
  }

  #passNotes(position: number): void {
    while ((this.#notes[0]?.at ?? Number.POSITIVE_INFINITY) <= position) this.#notes.shift()?.pass();
  }
}
