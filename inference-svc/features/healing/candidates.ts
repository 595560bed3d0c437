/** Finds the places in a text where the requested JSON may stand. */
import type { Yielding } from "../../turn/time-slice.ts";
import { type Region, replaceRegions } from "../../turn/replacements.ts";
import { type Failure, Reader, type JsonReading } from "./reader.ts";

export interface Candidate {
  /** The candidate as JSON. */
  readonly json: string;
  /** Replacements after which only the candidate is left of the text. */
  readonly regions: readonly Region[];
  /** Whether the candidate is valid JSON already. */
  readonly isWhole: boolean;
  /** Whether the candidate stands in a code fence. */
  readonly isFenced: boolean;
  /** Whether the candidate is clearly JSON: it is the whole text, it is fenced, or some key is in quotes. */
  readonly isMeant: boolean;
}

export interface Candidates {
  readonly found: readonly Candidate[];
  /** Why the search stopped at a beginning that cannot be repaired; absent when it came to the end. */
  readonly failure?: Failure;
}

/** Matches a key in front of the bracket: the value then belongs to an object whose start is missing. */
const keyBefore = /["'”]\s*[:=]\s*$/;
const fenceBefore = /```[\w-]*\s*$/;
/** Number of characters in front of a candidate that are searched for a code fence. */
const lookBehind = 40;
/** Maximum number of beginnings of JSON that are tried: a text with more is prose without JSON. */
const maxBeginnings = 64;

export function* candidatesIn(text: string): Yielding<Candidates> {
  const found: Candidate[] = [];
  const bracket = /[{[]/g;
  bracket.lastIndex = thoughtEnd(text);
  for (let begun = 0; begun < maxBeginnings; begun++) {
    const start = bracket.exec(text)?.index;
    if (start === undefined) break;
    if (keyBefore.test(before(text, start))) return { found, failure: "broken" };
    const reading = yield* new Reader(text, start).read();
    if (reading === "no JSON") continue;
    if (typeof reading === "string") return { found, failure: reading };
    const candidate = candidateOf(text, start, reading);
    if (candidate) found.push(candidate);
    bracket.lastIndex = reading.end;
  }
  return { found };
}

const before = (text: string, at: number): string => text.slice(Math.max(0, at - lookBehind), at);

/** Index at which reasoning ends that the model's template left in the answer; 0 when there is none. */
function thoughtEnd(text: string): number {
  const bracket = text.search(/[{[]/);
  const opened = /<(think|thinking|reasoning)>/.exec(bracket === -1 ? "" : text.slice(0, bracket));
  return opened ? Math.max(0, text.indexOf(`</${opened[1]}>`, opened.index)) : 0;
}

/** The candidate read. @returns undefined for empty brackets within other text, which are punctuation */
function candidateOf(text: string, start: number, reading: JsonReading): Candidate | undefined {
  const { end, regions, isQuoted, isEmpty } = reading;
  const isFenced = fenceBefore.test(before(text, start));
  const isWholeText = text.slice(0, start).trim() === "" && text.slice(end).trim() === "";
  if (isEmpty && !isFenced && !isWholeText) return undefined;
  const around: Region[] = [{ start: 0, end: start, placeholder: "" }, ...regions];
  if (end < text.length) around.push({ start: end, end: text.length, placeholder: "" });
  return {
    json: replaceRegions(text, around),
    regions: around,
    isWhole: regions.length === 0,
    isFenced,
    isMeant: isWholeText || isFenced || isQuoted,
  };
}
