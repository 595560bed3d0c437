/** Events passed on unchanged: a provider's progress events, and events of later versions of the format. */
import type { JsonObject } from "../json.ts";

/** Matches events the gateway itself writes from deltas and items. `reasoning_part` is an older name. */
const rewritten = /^response\.(output_item|content_part|reasoning_part|reasoning_summary_part)\./;
/**
 * Matches names of events about items, with at least two segments; shorter names, such as response.completed, concern
 * the response itself. The name is written into a line of the stream, so only these characters are allowed in it.
 */
const ofItems = /^response(\.[a-z0-9_]+){2,}$/;

export const isNativeEvent = (type: string): boolean => ofItems.test(type) && !rewritten.test(type);

/** The payload without numbers and ids, which are assigned anew, and without the padding that hides lengths of texts. */
export function toNativePayload(event: JsonObject): JsonObject {
  const { type: _, sequence_number: __, item_id: ___, output_index: ____, obfuscation: _____, ...payload } = event;
  return payload;
}
