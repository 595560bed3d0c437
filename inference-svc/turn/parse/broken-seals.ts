/**
 * Marks reasoning whose signature is broken, because its text or the signed item after it was changed. Its provider
 * would refuse it, and its encrypted part would still reveal what was removed.
 */
import type { InputItem } from "../request.ts";

const broken = Symbol("broken seal");
type MarkedItem = InputItem & { [broken]?: true };

/** Whether the reasoning is marked as broken. Copies of an item by its fields have the mark, too. */
export const hasBrokenSeal = (item: MarkedItem): boolean => item[broken] === true;

/** Reason in the receipt for reasoning that is not sent because of it. */
export const brokenSeal = "its text was changed, so that its signature no longer fits";

const isSealed = ({ type, signature, encrypted_content: data }: InputItem): boolean =>
  type === "reasoning" && [signature, data].some((seal) => typeof seal === "string" && seal !== "");

/**
 * Whether the signature of reasoning stands on the next part of the answer, a text or a call, as with Gemini
 * (https://ai.google.dev/gemini-api/docs/thought-signatures).
 */
const standsOnNext = ({ format }: InputItem): boolean => format === "google-gemini-v1";

const ofAnswer: ReadonlySet<string> = new Set(["message", "function_call", "custom_tool_call"]);

/**
 * Marks reasoning whose signature is broken by a change of another item. The marked items are changed in place.
 * @param index index of the changed item
 */
export function breakSeals(items: readonly InputItem[], index: number): void {
  const item = items[index] as MarkedItem;
  if (isSealed(item)) item[broken] = true;
  const before: MarkedItem | undefined = items[index - 1];
  if (before && isSignedBy(before, item)) before[broken] = true;
}

/** Whether the signature of this reasoning stands on the item after it. */
export const isSignedBy = (reasoning: InputItem, next: InputItem): boolean =>
  ofAnswer.has(next.type) && isSealed(reasoning) && standsOnNext(reasoning);

export const withBrokenSeal = (item: InputItem): InputItem => ({ ...item, [broken]: true });
