/** The inputs of calls in a whole message, as they were written: parsing would round their numbers. */
import { openBrace } from "@sluice/proto/runtime/validation/json-bytes.js";
import { elementsOf, membersOf } from "@sluice/proto/runtime/validation/json-span.js";
import { type JsonObject, objects } from "../json.ts";

const none: ReadonlyMap<number, string> = new Map();

/**
 * @param data the message as JSON
 * @returns JSON by the number of the block among those that are objects
 */
export function wholeInputs(message: JsonObject, data: string): ReadonlyMap<number, string> {
  if (!objects(message.content).some(({ type }) => type === "tool_use")) return none;
  const bytes = Buffer.from(data);
  const content = membersOf(bytes).findLast(({ key }) => key === "content");
  const blocks = content ? elementsOf(bytes, content.start) : [];
  const whole = blocks.filter(({ start }) => bytes[start] === openBrace);
  return new Map(
    whole.flatMap(({ start }, index) => {
      const input = membersOf(bytes, start).findLast(({ key }) => key === "input");
      return input ? [[index, bytes.toString("utf8", input.start, input.end)] as const] : [];
    }),
  );
}
