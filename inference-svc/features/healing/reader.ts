/**
 * Reads malformed JSON from its opening bracket, and records the replacements needed to make it valid. No content is
 * added: the reader gives up at a missing or cut-off value. Takes time linear in the text.
 */
import type { Yielding } from "../../turn/time-slice.ts";
import type { Region } from "../../turn/replacements.ts";
import { Cursor, NotJson } from "./cursor.ts";
import { type StringRole, closersOf } from "./quotes.ts";
import { readString } from "./strings.ts";
import { tokenAt } from "./tokens.ts";

export interface JsonReading {
  /** Index after the JSON value. */
  readonly end: number;
  /** Replacements in order; empty for valid JSON. */
  readonly regions: readonly Region[];
  /** Whether some key is in quotes, as in hardly any text other than JSON. */
  readonly isQuoted: boolean;
  readonly isEmpty: boolean;
}

/** Why reading failed. truncated: the text ends within a value, or before a required one. broken: the text is meant as JSON, but ambiguous. */
export type Failure = "truncated" | "broken" | "no JSON";

type Bracket = "{" | "[";

/** Maximum nesting, more than any answer has. */
const maxDepth = 512;

const identifier = /[\p{L}\p{N}_$][\p{L}\p{N}_$.-]*/uy;
const separator = /:|=>|=/y;

export class Reader {
  readonly #cursor: Cursor;
  readonly #open: Bracket[] = [];
  /** Index after the last value, or after the open bracket. */
  #end: number;
  /** Index of the comma after the last value; -1 when there is none. */
  #comma = -1;
  /** Whether the innermost container is still empty. */
  #isFirst = true;
  /** Whether the last value may be cut off by the end of the text. */
  #mayGoOn = false;
  /** Whether the text reads like JSON so far, and not like a sentence in brackets. */
  #isLikely = false;
  #isQuoted = false;

  /** @param start index of the opening bracket */
  constructor(text: string, start: number) {
    this.#cursor = new Cursor(text, start);
    this.#end = start;
  }

  *read(): Yielding<JsonReading | Failure> {
    try {
      this.#push(this.#cursor.character as Bracket);
      while (this.#open.length > 0) {
        yield;
        this.#cursor.skip();
        if (this.#cursor.isOver) this.#closeAll();
        else this.#step(this.#cursor.character);
      }
    } catch (error) {
      if (!(error instanceof NotJson)) throw error;
      return this.#isLikely ? error.why : "no JSON";
    }
    return { end: this.#end, regions: this.#cursor.regions, isQuoted: this.#isQuoted, isEmpty: this.#isFirst };
  }

  #step(character: string): void {
    if (character === ",") this.#separate();
    else if (character === "}" || character === "]") this.#close(character);
    else if (this.#open.at(-1) === "{") this.#member();
    else this.#element(character);
  }

  /** Reads an element of a list. Adjacent words are prose, not elements. */
  #element(character: string): void {
    const isWord = closersOf(character) === undefined && character !== "{" && character !== "[";
    const isApart =
      this.#isFirst || this.#comma !== -1 || this.#cursor.text.slice(this.#end, this.#cursor.at).includes("\n");
    if (isWord && !isApart) throw new NotJson("broken");
    this.#entry();
    this.#value("element");
  }

  /** Reads a comma. Repeated commas count as one. */
  #separate(): void {
    const cursor = this.#cursor;
    if (this.#comma === -1) this.#comma = cursor.at;
    else cursor.replace(cursor.at, cursor.at + 1, "");
    cursor.at++;
  }

  /** Begins an entry, and adds a missing comma in front of it, except for the first one. */
  #entry(): void {
    if (this.#isFirst) this.#dropComma();
    else if (this.#comma === -1) this.#cursor.replace(this.#end, this.#end, ",");
    this.#comma = -1;
    this.#isFirst = false;
  }

  #dropComma(): void {
    if (this.#comma !== -1) this.#cursor.replace(this.#comma, this.#comma + 1, "");
    this.#comma = -1;
  }

  #member(): void {
    const cursor = this.#cursor;
    this.#entry();
    const isQuoted = this.#key();
    const keyEnd = cursor.at;
    cursor.skip();
    if (cursor.isOver) throw new NotJson("truncated");
    separator.lastIndex = cursor.at;
    if (separator.test(cursor.text)) {
      if (cursor.character !== ":") cursor.replace(cursor.at, separator.lastIndex, ":");
      cursor.at = separator.lastIndex;
    } else if (isQuoted) cursor.replace(keyEnd, keyEnd, ":");
    else throw new NotJson("broken");
    this.#isLikely = true;
    this.#isQuoted ||= isQuoted;
    cursor.skip();
    if (cursor.isOver) throw new NotJson("truncated");
    this.#value("member");
  }

  /** Reads a key. @returns whether it was in quotes */
  #key(): boolean {
    const cursor = this.#cursor;
    if (closersOf(cursor.character) !== undefined) {
      readString(cursor, "key", () => this.#missing());
      return true;
    }
    identifier.lastIndex = cursor.at;
    if (!identifier.test(cursor.text)) throw new NotJson("broken");
    const end = identifier.lastIndex;
    cursor.replace(cursor.at, end, JSON.stringify(cursor.text.slice(cursor.at, end)));
    cursor.at = end;
    return false;
  }

  #value(role: StringRole): void {
    const cursor = this.#cursor;
    const { character } = cursor;
    this.#mayGoOn = false;
    if (character === "{" || character === "[") return this.#push(character);
    if (closersOf(character) === undefined) this.#token();
    else {
      readString(cursor, role, () => this.#missing());
      this.#isLikely = true;
    }
    this.#end = cursor.at;
  }

  #token(): void {
    const cursor = this.#cursor;
    const token = tokenAt(cursor.text, cursor.at);
    if (token === undefined || (token.isBare && this.#open.length === 1 && this.#open[0] === "["))
      throw new NotJson("broken");
    if (token.json !== cursor.text.slice(cursor.at, token.end)) cursor.replace(cursor.at, token.end, token.json);
    else this.#isLikely = true;
    this.#mayGoOn = token.open;
    cursor.at = token.end;
  }

  #push(bracket: Bracket): void {
    if (this.#open.length === maxDepth) throw new NotJson("broken");
    if (this.#open.length > 0) this.#isLikely = true;
    this.#open.push(bracket);
    this.#cursor.at++;
    this.#end = this.#cursor.at;
    this.#isFirst = true;
  }

  /** Closes a container. A bracket that does not match the innermost container closes the enclosing one that matches, if any. */
  #close(character: string): void {
    const cursor = this.#cursor;
    this.#dropComma();
    const own = closing(this.#open.pop() as Bracket);
    const around = this.#open.at(-1);
    if (character !== own && around && closing(around) === character) cursor.replace(this.#end, this.#end, own);
    else {
      if (character !== own) cursor.replace(cursor.at, cursor.at + 1, own);
      cursor.at++;
      this.#end = cursor.at;
    }
    if (this.#open.length > 0) this.#isFirst = false;
  }

  /** Closes all containers at the end of the text. Gives up if anything but closing brackets is missing. */
  #closeAll(): void {
    if (this.#comma !== -1 || this.#isFirst || this.#mayGoOn) throw new NotJson("truncated");
    this.#cursor.replace(this.#end, this.#end, this.#missing());
    this.#open.length = 0;
  }

  /** The closing brackets for all open brackets. */
  #missing(): string {
    return this.#open.toReversed().map(closing).join("");
  }
}

const closing = (bracket: Bracket): string => (bracket === "{" ? "}" : "]");
