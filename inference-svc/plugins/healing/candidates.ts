/** Where in a text the JSON may be that was asked for. */
import type { Pauses } from "../../turn/breath.ts";
import { type Region, replaced } from "../../turn/replaced.ts";
import { type Failure, Reader, type Reading } from "./reader.ts";

export interface Candidate {
  /** As JSON. */
  readonly json: string;
  /** What is replaced of the text so that this is left. */
  readonly regions: readonly Region[];
  /** It is JSON as it stands. */
  readonly isWhole: boolean;
  /** Somebody has marked it as code. */
  readonly isFenced: boolean;
  /** Nothing but it is there, or it is fenced, or some key of it stands in quotes. */
  readonly isMeant: boolean;
}

export interface Candidates {
  readonly found: readonly Candidate[];
  /** Of the one behind them: what is within it was never meant alone. */
  readonly failure?: Failure;
}

/** Before what would be the value of something around it: the beginning of that is missing. */
const keyBefore = /["'”]\s*[:=]\s*$/;
const fenceBefore = /```[\w-]*\s*$/;
/** What stands before a candidate is looked at so far. */
const lookBehind = 40;
/** Prose in which more begins that looks like JSON holds none. */
const mostBeginnings = 64;

export function* candidatesIn(text: string): Pauses<Candidates> {
  const found: Candidate[] = [];
  const bracket = /[{[]/g;
  bracket.lastIndex = thoughtEnd(text);
  for (let begun = 0; begun < mostBeginnings; begun++) {
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

/** Of the reasoning that a model's template has left in the answer; 0 when there is none. */
function thoughtEnd(text: string): number {
  const bracket = text.search(/[{[]/);
  const opened = /<(think|thinking|reasoning)>/.exec(bracket === -1 ? "" : text.slice(0, bracket));
  return opened ? Math.max(0, text.indexOf(`</${opened[1]}>`, opened.index)) : 0;
}

/** Brackets with nothing in them are punctuation, where something stands around them. */
function candidateOf(text: string, start: number, reading: Reading): Candidate | undefined {
  const { end, regions, isQuoted, isEmpty } = reading;
  const isFenced = fenceBefore.test(before(text, start));
  const isAlone = text.slice(0, start).trim() === "" && text.slice(end).trim() === "";
  if (isEmpty && !isFenced && !isAlone) return undefined;
  const around: Region[] = [{ start: 0, end: start, placeholder: "" }, ...regions];
  if (end < text.length) around.push({ start: end, end: text.length, placeholder: "" });
  return {
    json: replaced(text, around),
    regions: around,
    isWhole: regions.length === 0,
    isFenced,
    isMeant: isAlone || isFenced || isQuoted,
  };
}
