/** Events passed through unchanged: a provider's progress events, and events of later versions of the format. */
import type { JsonObject } from "../json.ts";

/** Events written by the gateway itself from deltas and items. `reasoning_part` is an older name. */
const rewritten = /^response\.(output_item|content_part|reasoning_part|reasoning_summary_part)\./;
/**
 * Names with at least two segments; shorter names, such as response.completed, concern the response itself. The name is written into a line
 * of the stream, so nothing else is allowed in it.
 */
const ofItems = /^response(\.[a-z0-9_]+){2,}$/;

export const isNativeEvent = (type: string): boolean => ofItems.test(type) && !rewritten.test(type);

/** Removes numbers and ids, which are assigned anew, and the padding for hiding text lengths. */
export function toNativePayload(event: JsonObject): JsonObject {
  const { type: _, sequence_number: __, item_id: ___, output_index: ____, obfuscation: _____, ...payload } = event;
  return payload;
}
