/**
 * Knows with which items an input begins that an earlier input of the same key had, too: a conversation repeats them in every request. They
 * are messages, calls, outputs and reasoning, and hold nothing but text. What was computed from them counts for the longer input as well.
 */
import type { InputItem } from "../request.ts";

type Input = readonly InputItem[];

const beginning = Symbol("beginning");
const shorter = Symbol("shorter");
/** The notes stand on the list itself, as those of a `ListMemo` do. */
type NotedInput = Input & { [beginning]?: Input | undefined; [shorter]?: Input };

/** The known items at the beginning of an input, the same list for each input that begins with them; undefined when there are none. */
export const beginningOf = (input: NotedInput): Input | undefined => input[beginning];

/** Number of the items at the beginning of an input of which it is known that they hold nothing but text. */
export const knownTexts = (input: NotedInput): number => input[beginning]?.length ?? 0;

/**
 * The first items of a remembered input: the same list for all inputs that go on in another way from there, as when the last message of a
 * conversation is written anew.
 */
export function firstItems(remembered: NotedInput, count: number): Input {
  if (count === remembered.length) return remembered;
  const known = remembered[shorter];
  return known?.length === count ? known : (remembered[shorter] = remembered.slice(0, count));
}

/** Notes that an input begins with these items. */
export function beginWith(input: NotedInput, items: NotedInput): void {
  // Otherwise each input would keep the one before it alive, as long as the conversation goes on.
  items[beginning] = undefined;
  input[beginning] = items;
}

/** Whether an item passes a test that fails for the known ones: for messages, calls, outputs and reasoning with nothing but text. */
export function hasOther(input: Input, test: (item: InputItem) => boolean): boolean {
  for (let index = knownTexts(input); index < input.length; index++) if (test(input[index]!)) return true;
  return false;
}
