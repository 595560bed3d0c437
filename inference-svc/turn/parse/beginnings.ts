/**
 * Tracks which first items an input shares with an earlier input of the same key: a conversation repeats them in every request. They
 * are messages, calls, outputs and reasoning with nothing but text. Results computed from them remain valid for the longer input.
 */
import type { InputItem } from "../request.ts";

type Input = readonly InputItem[];

const beginning = Symbol("beginning");
const shorter = Symbol("shorter");
/** The notes are stored on the list itself, like the results of a `ListMemo`. */
type NotedInput = Input & { [beginning]?: Input | undefined; [shorter]?: Input };

/** The known items at the start of an input, the same list for each input with this start; undefined when there are none. */
export const knownItemsOf = (input: NotedInput): Input | undefined => input[beginning];

/** Number of known text-only items at the start of an input. */
export const knownTexts = (input: NotedInput): number => input[beginning]?.length ?? 0;

/**
 * The first items of a remembered input: the same list for all inputs that differ after it, for example when the last message of a
 * conversation is edited.
 */
export function firstItems(remembered: NotedInput, count: number): Input {
  if (count === remembered.length) return remembered;
  const known = remembered[shorter];
  return known?.length === count ? known : (remembered[shorter] = remembered.slice(0, count));
}

/** Notes that an input starts with these items. */
export function recordKnownItems(input: NotedInput, items: NotedInput): void {
  // Otherwise each input would keep the one before it alive, as long as the conversation goes on.
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
