/** Texts of a request, most of which can be redacted in place. */
import type { TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { Yielding } from "../../../turn/time-slice.ts";
import type { FilterRule } from "../filter-rules.ts";
import { type JsonToken, isEscaped, tokenizeJson, decodeToken } from "../json-tokens.ts";
import { Redactions } from "./redactions.ts";

export interface TextSource {
  readonly text: string;
  /** Records spans to be replaced. @param spans from left to right @returns false when one of them cannot be replaced */
  redact(spans: readonly TextSpan[], rule: FilterRule): Yielding<boolean>;
}

/** A recorded redaction that is not yet written into the request. */
export interface PendingChange {
  write(): Yielding;
}

/** A text that is a whole field of the request. */
export class TextField implements TextSource, PendingChange {
  readonly text: string;
  readonly #put: (text: string) => void;
  readonly #changes: Set<PendingChange>;
  readonly #redactions = new Redactions();

  /** @param changes receives this field with its first redaction */
  constructor(text: string, put: (text: string) => void, changes: Set<PendingChange>) {
    this.text = text;
    this.#put = put;
    this.#changes = changes;
  }

  *redact(spans: readonly TextSpan[], rule: FilterRule): Yielding<boolean> {
    this.#changes.add(this);
    for (const span of spans) {
      this.#redactions.add(span, rule);
      yield;
    }
    return true;
  }

  *write(): Yielding {
    this.#put(yield* this.#redactions.apply(this.text));
  }
}

/** A text that can be scanned but not changed. */
export class Unredactable implements TextSource {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  // oxlint-disable-next-line require-yield
  *redact(): Yielding<boolean> {
    return false;
  }
}

/** Maximum number of different matches of a file that are looked up in its sent text. */
const maxLookups = 256;

/**
 * A text of a file scanned in addition to the sent text. A match that is also in the sent text is redacted there; any
 * other match cannot be redacted.
 */
export class UnsentFileText implements TextSource {
  readonly text: string;
  readonly #sent: string;

  constructor(text: string, sent: string) {
    this.text = text;
    this.#sent = sent;
  }

  *redact(spans: readonly TextSpan[]): Yielding<boolean> {
    const found = new Set<string>();
    for (const { start, end } of spans) {
      const words = this.text.slice(start, end);
      if (!found.has(words) && (found.size === maxLookups || !this.#sent.includes(words))) return false;
      found.add(words);
      yield;
    }
    return true;
  }
}

/** An identifier other parts of the request refer to. */
export class Identifier extends Unredactable {}

/** A JSON text that must remain JSON: only text within its strings is replaced, and a redacted number becomes a string. */
export class JsonField implements TextSource, PendingChange {
  readonly text: string;
  readonly #put: (text: string) => void;
  readonly #changes: Set<PendingChange>;
  /** Redacted tokens, by their start in the JSON. */
  readonly #words = new Map<number, { readonly text: string; readonly redactions: Redactions }>();

  /** @param text well-formed JSON */
  constructor(text: string, put: (text: string) => void, changes: Set<PendingChange>) {
    this.text = text;
    this.#put = put;
    this.#changes = changes;
  }

  /** The token as a source of its own, to be scanned separately. */
  *word(token: JsonToken): Yielding<TextSource> {
    const text = yield* decodeToken(this.text, token);
    const note = (span: TextSpan, rule: FilterRule) => this.#note(token, text, span, rule);
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

  *redact(spans: readonly TextSpan[], rule: FilterRule): Yielding<boolean> {
    const tokens = tokenizeJson(this.text);
    let token = yield* nextToken(tokens);
    let all = true;
    let reached = 0;
    for (const span of spans) {
      // Several matches within one decoded word map to the same span.
      if (span.end <= reached) continue;
      reached = span.end;
      while (token && token.end <= span.start) token = yield* nextToken(tokens);
      let replaced = false;
      for (; token && token.start < span.end; token = yield* nextToken(tokens)) {
        if (yield* this.#redactIn(token, span, rule)) replaced = true;
        if (token.end > span.end) break;
      }
      all &&= replaced;
      yield;
    }
    return all;
  }

  /** Redacts the part of the span that is within the token. */
  *#redactIn(token: JsonToken, span: TextSpan, rule: FilterRule): Yielding<boolean> {
    // The scan of the decoded string has already found this match, at exact places.
    if (token.kind !== "scalar" && token.start < span.start && span.end < token.end) return true;
    const text = yield* decodeToken(this.text, token);
    const exact = token.kind !== "scalar" && !isEscaped(this.text, token);
    const start = exact ? Math.max(0, span.start - token.start - 1) : 0;
    const end = exact ? Math.min(text.length, span.end - token.start - 1) : text.length;
    if (start >= end) return false;
    this.#note(token, text, { start, end }, rule);
    return true;
  }

  *write(): Yielding {
    const pieces: string[] = [];
    let at = 0;
    for (const token of tokenizeJson(this.text)) {
      const word = token && this.#words.get(token.start);
      if (word) {
        pieces.push(this.text.slice(at, token.start), JSON.stringify(yield* word.redactions.apply(word.text)));
        at = token.end;
      }
      yield;
    }
    pieces.push(this.text.slice(at));
    this.#put(pieces.join(""));
  }

  #note(token: JsonToken, text: string, span: TextSpan, rule: FilterRule): void {
    let word = this.#words.get(token.start);
    if (!word) this.#words.set(token.start, (word = { text, redactions: new Redactions() }));
    word.redactions.add(token.kind === "scalar" ? { start: 0, end: text.length } : span, rule);
    this.#changes.add(this);
  }
}

function* nextToken(tokens: Iterator<JsonToken | undefined, void>): Yielding<JsonToken | undefined> {
  let next = tokens.next();
  for (; next.done !== true && next.value === undefined; next = tokens.next()) yield;
  return next.done === true ? undefined : next.value;
}
