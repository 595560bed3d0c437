/**
 * Scans streamed text with a detector service. Text is held until a sentence ends or `maxFresh` units have come, then sent together with the context before
 * it. A finding at the end may still grow, such as a name, and stays held until more text is known.
 */
import type { Found, TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { Scope } from "../../../turn/scope.ts";
import type { ServiceScan } from "./service-scan.ts";
import { type DetectedRule, selectSpans } from "./rules.ts";

/** Length in UTF-16 units at which text is sent although no sentence has ended. */
const maxFresh = 400;
/** UTF-16 units at the end of a cut sentence, sent again with the next sentence: a name may be cut there. */
const tailUnits = 64;
/** UTF-16 units of already delivered text sent along as context. */
const contextUnits = 200;
/** Limit in UTF-16 units for a finding that still grows; beyond it, its current end is taken. */
const maxUnsettled = 2_000;

/** A period after an initial or a short title does not end a sentence: `J. Doe`, `Dr. Doe`. */
const sentenceEnd = /(?:(?<=[\p{Ll}\p{Lo}\p{N}]{2})\.|[!?\u2026\u3002\uff01\uff1f])["')\]\u201d\u2019]?\s|\n/gu;

export class SentenceScan implements ServiceScan {
  readonly #rule: DetectedRule;
  readonly #scope: Scope;
  /** Decided text, sent as context with the next call. */
  #context = "";
  #held = "";
  /** How many of the held characters the detector has already seen. */
  #scannedUntil = 0;
  #decided = 0;

  constructor(rule: DetectedRule, scope: Scope) {
    this.#rule = rule;
    this.#scope = scope;
  }

  push(piece: string): Found {
    this.#held += piece;
    return { spans: [], decided: this.#decided };
  }

  async scanByService(over: boolean): Promise<Found> {
    const fresh = this.#held.length - this.#scannedUntil;
    const ends = findSentenceEnd(this.#held, this.#scannedUntil);
    if (fresh === 0 ? !over : !over && ends === undefined && fresh < maxFresh) return this.push("");
    return this.#take(await this.#find(), over ? this.#held.length : (ends ?? this.#held.length - tailUnits), over);
  }

  end(): Found {
    // Unscanned text must never be released.
    if (this.#held !== "") throw new Error("the text ended before its detector was asked");
    return { spans: [], decided: this.#decided };
  }

  /** The detector's findings as spans of the held text. */
  async #find(): Promise<readonly TextSpan[]> {
    if (this.#held === "") return [];
    const text = this.#context + this.#held;
    const found = await this.#rule.detector.find([text], this.#scope, "output");
    const shift = this.#context.length;
    return selectSpans(found.get(text) ?? [], this.#rule)
      .filter(({ end }) => end > shift)
      .map(({ start, end }) => ({ start: Math.max(0, start - shift), end: end - shift }));
  }

  #take(spans: readonly TextSpan[], end: number, over: boolean): Found {
    const until = over || !this.#rule.detector.returnsSpans ? end : this.#settledUntil(spans, end);
    const base = this.#decided;
    const taken = spans.filter(({ start }) => start < until);
    const found = taken.map((span) => ({ start: base + span.start, end: base + Math.min(span.end, until) }));
    // Text with a finding would taint a classifier's verdict on the text after it.
    const colors = !this.#rule.detector.returnsSpans && found.length > 0;
    this.#context = colors ? "" : (this.#context + this.#held.slice(0, until)).slice(-contextUnits);
    this.#held = this.#held.slice(until);
    this.#scannedUntil = this.#held.length;
    this.#decided += until;
    return { spans: found, decided: this.#decided };
  }

  /** Offset in the text; findings before it can grow no further. */
  #settledUntil(spans: readonly TextSpan[], end: number): number {
    if (this.#held.length > maxUnsettled) return end;
    const last = this.#held.slice(0, end).trimEnd().length;
    return spans.find((span) => span.start < end && span.end >= last)?.start ?? end;
  }
}

/** The end of the last complete sentence, unless the detector has already seen it. */
function findSentenceEnd(text: string, scannedUntil: number): number | undefined {
  let end: number | undefined;
  for (const found of text.matchAll(sentenceEnd)) end = found.index + found[0].length;
  return end !== undefined && end > scannedUntil ? end : undefined;
}
