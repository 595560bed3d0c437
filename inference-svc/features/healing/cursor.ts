/** A cursor over a text, with the replacements needed so far to make it JSON. */
import type { Region } from "../../turn/replacements.ts";

const space = /[ \t\r\n]*/y;
/** Matches white space that JSON does not allow. */
const otherSpace = /[\s\u200b\ufeff]/;
const comment = /\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)|#[^\n]*/y;
const fence = "```";

/** Thrown when text that looks like the start of JSON is no JSON. The reader catches it: most such starts are none. */
export class NotJson extends Error {
  readonly why: "truncated" | "broken";

  constructor(why: "truncated" | "broken") {
    super(why);
    this.why = why;
  }
}

export class Cursor {
  readonly text: string;
  at: number;
  readonly #regions: Region[] = [];

  constructor(text: string, at: number) {
    this.text = text;
    this.at = at;
  }

  /** Regions in the order of their positions. */
  get regions(): readonly Region[] {
    return this.#regions.toSorted((a, b) => a.start - b.start || a.end - b.end);
  }

  get character(): string {
    return this.text[this.at] as string;
  }

  get isOver(): boolean {
    return this.at >= this.text.length || this.text.startsWith(fence, this.at);
  }

  replace(start: number, end: number, placeholder: string): void {
    this.#regions.push({ start, end, placeholder });
  }

  /** Undoes the replacements from this place on, and continues there. */
  backTo(at: number): void {
    while ((this.#regions.at(-1)?.start ?? -1) >= at) this.#regions.pop();
    this.at = at;
  }

  /** Skips white space and comments, and replaces those that JSON does not allow. */
  skip(): void {
    for (;;) {
      space.lastIndex = this.at;
      if (space.test(this.text)) this.at = space.lastIndex;
      comment.lastIndex = this.at;
      if (comment.test(this.text)) this.#remove(comment.lastIndex);
      else if (this.at < this.text.length && otherSpace.test(this.character)) this.#remove(this.at + 1);
      else return;
    }
  }

  #remove(end: number): void {
    this.replace(this.at, end, "");
    this.at = end;
  }
}
