/** Events that pass as they are: a provider's progress, and whatever a later version of the format brings. */
import type { JsonObject } from "../json.ts";

/** Events of items that the gateway writes itself, from what their deltas and items say; the last is an older name of a part's begin. */
const rewritten = /^response\.(output_item|content_part|reasoning_part|reasoning_summary_part)\./;
/** Beyond the words of the response itself, such as response.completed. The name becomes part of a line: nothing may break out of it. */
const ofItems = /^response(\.[a-z0-9_]+){2,}$/;

export const isNative = (type: string): boolean => ofItems.test(type) && !rewritten.test(type);

/** Numbers and ids are given anew; what only hides how long a text is would hide nothing here. */
export function payloadOf(event: JsonObject): JsonObject {
  const { type: _, sequence_number: __, item_id: ___, output_index: ____, obfuscation: _____, ...payload } = event;
  return payload;
}
