/** Texts of a request where they stand, so that what is found in them can be replaced. */
import type { Span } from "@sluice/proto/runtime/pattern/finder.js";
import type { Rule } from "../policy.ts";
import { type Token, isEscaped, tokensOf, valueOf } from "../json-tokens.ts";
import { Redactions } from "./redactions.ts";

export interface Source {
  readonly text: string;
  /** Notes what shall be replaced. False when nothing can be: others refer to the text by what it says. */
  redact(span: Span, rule: Rule): boolean;
}

/** What has been changed and is to be written back. */
export interface Changed {
  write(): void;
}

/** A text of its own. */
export class Field implements Source, Changed {
  readonly text: string;
  readonly #put: (text: string) => void;
  readonly #changes: Set<Changed>;
  readonly #redactions = new Redactions();

  /** @param changes gets this when something is noted */
  constructor(text: string, put: (text: string) => void, changes: Set<Changed>) {
    this.text = text;
    this.#put = put;
    this.#changes = changes;
  }

  redact(span: Span, rule: Rule): boolean {
    this.#redactions.add(span, rule);
    this.#changes.add(this);
    return true;
  }

  write(): void {
    this.#put(this.#redactions.apply(this.text));
  }
}

/** By this something is called. */
export class Name implements Source {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  redact(): boolean {
    return false;
  }
}

/** A text that is JSON, and stays so: what is replaced is replaced within its strings, and numbers become strings. */
export class JsonField implements Source, Changed {
  readonly text: string;
  readonly #put: (text: string) => void;
  readonly #changes: Set<Changed>;
  readonly #words = new Map<
    number,
    { readonly token: Token; readonly said: string; readonly redactions: Redactions }
  >();
  #tokens: readonly Token[] | undefined;

  /** @param text well-formed JSON */
  constructor(text: string, put: (text: string) => void, changes: Set<Changed>) {
    this.text = text;
    this.#put = put;
    this.#changes = changes;
  }

  /** Each as a text of its own. */
  word(token: Token): Source {
    const text = valueOf(this.text, token);
    return { text, redact: (span, rule) => this.#note(token, text, span, rule) };
  }

  redact(span: Span, rule: Rule): boolean {
    let replaced = false;
    for (const token of this.#within(span)) {
      // Found in the word by itself, where its escapes are known.
      if (token.kind !== "scalar" && token.start < span.start && span.end < token.end) return true;
      const text = valueOf(this.text, token);
      const exact = token.kind !== "scalar" && !isEscaped(this.text, token);
      const start = exact ? Math.max(0, span.start - token.start - 1) : 0;
      const end = exact ? Math.min(text.length, span.end - token.start - 1) : text.length;
      if (start < end) replaced = this.#note(token, text, { start, end }, rule);
    }
    return replaced;
  }

  write(): void {
    const words = [...this.#words.values()].toSorted((a, b) => a.token.start - b.token.start);
    let json = "";
    let at = 0;
    for (const { token, said, redactions } of words) {
      json += this.text.slice(at, token.start) + JSON.stringify(redactions.apply(said));
      at = token.end;
    }
    this.#put(json + this.text.slice(at));
  }

  #note(token: Token, said: string, span: Span, rule: Rule): boolean {
    let word = this.#words.get(token.start);
    if (!word) this.#words.set(token.start, (word = { token, said, redactions: new Redactions() }));
    word.redactions.add(token.kind === "scalar" ? { start: 0, end: said.length } : span, rule);
    this.#changes.add(this);
    return true;
  }

  *#within({ start, end }: Span): Iterable<Token> {
    const tokens = (this.#tokens ??= [...tokensOf(this.text)]);
    let low = 0;
    for (let high = tokens.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((tokens[middle] as Token).end <= start) low = middle + 1;
      else high = middle;
    }
    for (let token = tokens[low]; token && token.start < end; token = tokens[++low]) yield token;
  }
}
