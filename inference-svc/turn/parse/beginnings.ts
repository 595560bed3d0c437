/**
 * Tracks which first items an input shares with an earlier input of the same key: a conversation repeats them in every
 * request. Only messages, calls, outputs and reasoning that contain nothing but text count. Results computed from them
 * stay valid for the longer input.
 */
import type { InputItem } from "../request.ts";

type Input = readonly InputItem[];

const beginning = Symbol("beginning");
const shorter = Symbol("shorter");
/** A list of items on which the notes are stored, like the results of a `ListMemo`. */
type NotedInput = Input & { [beginning]?: Input | undefined; [shorter]?: Input };

/** The known items at the start of an input; undefined when there are none. All inputs with this start share the list. */
export const knownItemsOf = (input: NotedInput): Input | undefined => input[beginning];

/** Number of known items, which contain only text, at the start of an input. */
export const knownTexts = (input: NotedInput): number => input[beginning]?.length ?? 0;

/**
 * The first items of a known input, as one list for all inputs that differ after them, for example because the last
 * message of a conversation was edited.
 */
export function firstItems(remembered: NotedInput, count: number): Input {
  if (count === remembered.length) return remembered;
  const known = remembered[shorter];
  return known?.length === count ? known : (remembered[shorter] = remembered.slice(0, count));
}

/** Notes that an input starts with these items. */
export function recordKnownItems(input: NotedInput, items: NotedInput): void {
  // Otherwise each input would keep the one before it in memory, as long as the conversation goes on.
  items[beginning] = undefined;
  input[beginning] = items;
}

/**
 * Whether any item matches `test`. Known first items are skipped: they are text-only messages, calls, outputs and reasoning, for which `test`
 * must be false.
 */
export function hasUnknownItem(input: Input, test: (item: InputItem) => boolean): boolean {
  for (let index = knownTexts(input); index < input.length; index++) if (test(input[index]!)) return true;
  return false;
}
