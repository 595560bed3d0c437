/**
 * A text that comes in pieces, under a rule of a service: held until a sentence is over, or some lines have come, then asked about together with what
 * leads to it. What may still go on, such as a name at the end, is held until more is known.
 */
import type { Found, Span } from "@sluice/proto/runtime/pattern/finder.js";
import type { Scope } from "../../turn/scope.ts";
import type { AskingScan } from "./asking.ts";
import { type DetectedRule, spansOf } from "./rules.ts";

/** UTF-16 units after which no end of a sentence is waited for. */
const longest = 400;
/** Of them, those at the end that are asked about again: a name may be under way. */
const tail = 64;
/** What is asked again of what came before. */
const overlap = 200;
/** Something found that begins before all of this and goes on is taken for what it is so far. */
const mostHeld = 2_000;

/** A point behind an initial or a short title ends no sentence: `J. Doe`, `Dr. Doe`. */
const sentenceEnd = /(?:(?<=[\p{Ll}\p{Lo}\p{N}]{2})\.|[!?\u2026\u3002\uff01\uff1f])["')\]\u201d\u2019]?\s|\n/gu;

export class StretchScan implements AskingScan {
  readonly #rule: DetectedRule;
  readonly #scope: Scope;
  /** Decided, and shown to the service as what leads to the rest. */
  #before = "";
  #held = "";
  /** Of what is held, as much was asked about. */
  #asked = 0;
  #decided = 0;

  constructor(rule: DetectedRule, scope: Scope) {
    this.#rule = rule;
    this.#scope = scope;
  }

  push(piece: string): Found {
    this.#held += piece;
    return { spans: [], decided: this.#decided };
  }

  async ask(over: boolean): Promise<Found> {
    const fresh = this.#held.length - this.#asked;
    const ends = endOfSentence(this.#held, this.#asked);
    if (fresh === 0 ? !over : !over && ends === undefined && fresh < longest) return this.push("");
    return this.#take(await this.#find(), over ? this.#held.length : (ends ?? this.#held.length - tail), over);
  }

  end(): Found {
    // Nothing may pass only because nobody asked.
    if (this.#held !== "") throw new Error("ended before it was asked about");
    return { spans: [], decided: this.#decided };
  }

  /** In what is held. */
  async #find(): Promise<readonly Span[]> {
    if (this.#held === "") return [];
    const text = this.#before + this.#held;
    const found = await this.#rule.detector.find([text], this.#scope);
    const shift = this.#before.length;
    return spansOf(found.get(text) ?? [], this.#rule)
      .filter(({ end }) => end > shift)
      .map(({ start, end }) => ({ start: Math.max(0, start - shift), end: end - shift }));
  }

  #take(spans: readonly Span[], end: number, over: boolean): Found {
    const until = over || !this.#rule.detector.tellsPlaces ? end : this.#settled(spans, end);
    const base = this.#decided;
    const taken = spans.filter(({ start }) => start < until);
    const found = taken.map((span) => ({ start: base + span.start, end: base + Math.min(span.end, until) }));
    // What a classifier has found would color what comes after it.
    const colors = !this.#rule.detector.tellsPlaces && found.length > 0;
    this.#before = colors ? "" : (this.#before + this.#held.slice(0, until)).slice(-overlap);
    this.#held = this.#held.slice(until);
    this.#asked = this.#held.length;
    this.#decided += until;
    return { spans: found, decided: this.#decided };
  }

  /** Up to where nothing that was found may go on. */
  #settled(spans: readonly Span[], end: number): number {
    if (this.#held.length > mostHeld) return end;
    const last = this.#held.slice(0, end).trimEnd().length;
    return spans.find((span) => span.start < end && span.end >= last)?.start ?? end;
  }
}

/** Of the last sentence that is over, when it was not asked about before. */
function endOfSentence(text: string, asked: number): number | undefined {
  let end: number | undefined;
  for (const found of text.matchAll(sentenceEnd)) end = found.index + found[0].length;
  return end !== undefined && end > asked ? end : undefined;
}
