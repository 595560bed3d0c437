/** Texts of a request where they stand, so that what is found in them can be replaced. */
import type { Span } from "@sluice/proto/runtime/pattern/finder.js";
import type { Pauses } from "../../turn/breath.ts";
import type { Rule } from "../policy.ts";
import { type Token, isEscaped, tokensOf, valueOf } from "../json-tokens.ts";
import { Redactions } from "./redactions.ts";

export interface Source {
  readonly text: string;
  /**
   * Notes what shall be replaced. False when of one of them nothing can be: others refer to the text by what it says.
   * @param spans from left to right
   */
  redact(spans: readonly Span[], rule: Rule): Pauses<boolean>;
}

/** What has been changed and is to be written back. */
export interface Changed {
  write(): Pauses;
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

  *redact(spans: readonly Span[], rule: Rule): Pauses<boolean> {
    this.#changes.add(this);
    for (const span of spans) {
      this.#redactions.add(span, rule);
      yield;
    }
    return true;
  }

  *write(): Pauses {
    this.#put(yield* this.#redactions.apply(this.text));
  }
}

/** Of this nothing can be replaced. */
export class Sealed implements Source {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  // oxlint-disable-next-line require-yield
  *redact(): Pauses<boolean> {
    return false;
  }
}

/** By this something is called. */
export class Name extends Sealed {}

/** A text that is JSON, and stays so: what is replaced is replaced within its strings, and numbers become strings. */
export class JsonField implements Source, Changed {
  readonly text: string;
  readonly #put: (text: string) => void;
  readonly #changes: Set<Changed>;
  /** By their starts, those of which something is replaced. */
  readonly #words = new Map<number, { readonly said: string; readonly redactions: Redactions }>();

  /** @param text well-formed JSON */
  constructor(text: string, put: (text: string) => void, changes: Set<Changed>) {
    this.text = text;
    this.#put = put;
    this.#changes = changes;
  }

  /** Each as a text of its own. */
  *word(token: Token): Pauses<Source> {
    const text = yield* valueOf(this.text, token);
    const note = (span: Span, rule: Rule) => this.#note(token, text, span, rule);
    return {
      text,
      *redact(spans, rule) {
        for (const span of spans) {
          note(span, rule);
          yield;
        }
        return true;
      },
    };
  }

  *redact(spans: readonly Span[], rule: Rule): Pauses<boolean> {
    const tokens = tokensOf(this.text);
    let token = yield* following(tokens);
    let all = true;
    let reached = 0;
    for (const span of spans) {
      // Several found in what counts as a whole only.
      if (span.end <= reached) continue;
      reached = span.end;
      while (token && token.end <= span.start) token = yield* following(tokens);
      let replaced = false;
      for (; token && token.start < span.end; token = yield* following(tokens)) {
        if (yield* this.#redactIn(token, span, rule)) replaced = true;
        if (token.end > span.end) break;
      }
      all &&= replaced;
      yield;
    }
    return all;
  }

  /** What of the span lies in the token. */
  *#redactIn(token: Token, span: Span, rule: Rule): Pauses<boolean> {
    // Found in the word by itself, where its escapes are known.
    if (token.kind !== "scalar" && token.start < span.start && span.end < token.end) return true;
    const text = yield* valueOf(this.text, token);
    const exact = token.kind !== "scalar" && !isEscaped(this.text, token);
    const start = exact ? Math.max(0, span.start - token.start - 1) : 0;
    const end = exact ? Math.min(text.length, span.end - token.start - 1) : text.length;
    if (start >= end) return false;
    this.#note(token, text, { start, end }, rule);
    return true;
  }

  *write(): Pauses {
    const pieces: string[] = [];
    let at = 0;
    for (const token of tokensOf(this.text)) {
      const word = token && this.#words.get(token.start);
      if (word) {
        pieces.push(this.text.slice(at, token.start), JSON.stringify(yield* word.redactions.apply(word.said)));
        at = token.end;
      }
      yield;
    }
    pieces.push(this.text.slice(at));
    this.#put(pieces.join(""));
  }

  #note(token: Token, said: string, span: Span, rule: Rule): void {
    let word = this.#words.get(token.start);
    if (!word) this.#words.set(token.start, (word = { said, redactions: new Redactions() }));
    word.redactions.add(token.kind === "scalar" ? { start: 0, end: said.length } : span, rule);
    this.#changes.add(this);
  }
}

function* following(tokens: Iterator<Token | undefined, void>): Pauses<Token | undefined> {
  let next = tokens.next();
  for (; next.done !== true && next.value === undefined; next = tokens.next()) yield;
  return next.done === true ? undefined : next.value;
}
