/**
 * Scans streamed text with a detector service. Text is held until a sentence ends or `maxFresh` units have come, then
 * sent to the service together with the context before it. A finding at the end of the text, such as a name, may still
 * grow, and is held until more text is known.
 */
import type { Found, TextSpan } from "@sluice/proto/lib/pattern/finder.js";
import type { Scope } from "../../../turn/scope.ts";
import type { ServiceScan } from "./service-scan.ts";
import { type DetectedRule, selectSpans } from "./rules.ts";

/** Length in UTF-16 units at which text is sent although no sentence has ended. */
const maxFresh = 400;
/** UTF-16 units at the end of an unfinished sentence that are sent again with the next text: a name may be cut there. */
const tailUnits = 64;
/** UTF-16 units of already delivered text sent along as context. */
const contextUnits = 200;
/** Maximum UTF-16 units of a finding that may still grow; beyond it, the finding ends where it ends now. */
const maxUnsettled = 2_000;

/** Matches the end of a sentence. A period after an initial or a short title is none: `J. Doe`, `Dr. Doe`. */
const sentenceEnd = /(?:(?<=[\p{Ll}\p{Lo}\p{N}]{2})\.|[!?\u2026\u3002\uff01\uff1f])["')\]\u201d\u2019]?\s|\n/gu;

export class SentenceScan implements ServiceScan {
  readonly #rule: DetectedRule;
  readonly #scope: Scope;
  /** Text already scanned and released, sent as context with the next call. */
  #context = "";
  #held = "";
  /** How many of the held UTF-16 units the detector has already seen. */
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
    // A classifier's verdict on later text would be tainted by text that contains a finding, so text is no context.
    const colors = !this.#rule.detector.returnsSpans && found.length > 0;
    this.#context = colors ? "" : (this.#context + this.#held.slice(0, until)).slice(-contextUnits);
    this.#held = this.#held.slice(until);
    this.#scannedUntil = this.#held.length;
    this.#decided += until;
    return { spans: found, decided: this.#decided };
  }

  /** Offset in the held text before which findings can no longer grow. */
  #settledUntil(spans: readonly TextSpan[], end: number): number {
    if (this.#held.length > maxUnsettled) return end;
    const last = this.#held.slice(0, end).trimEnd().length;
    return spans.find((span) => span.start < end && span.end >= last)?.start ?? end;
  }
}

/** End of the last complete sentence. @returns undefined if the detector has already seen it */
function findSentenceEnd(text: string, scannedUntil: number): number | undefined {
  let end: number | undefined;
  for (const found of text.matchAll(sentenceEnd)) end = found.index + found[0].length;
  return end !== undefined && end > scannedUntil ? end : undefined;
}
