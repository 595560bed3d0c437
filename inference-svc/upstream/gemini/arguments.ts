/** The arguments of calls as they were written: parsing would round their numbers. */
import { openBrace } from "@sluice/proto/runtime/validation/json-bytes.js";
import { elementsOf, membersOf, oneLine } from "@sluice/proto/runtime/validation/json-span.js";
import { type JsonObject, isObject } from "../json.ts";

const none: ReadonlyMap<number, string> = new Map();

/**
 * @param parts of the candidate
 * @param data the chunk as JSON
 * @param place of the candidate among those that are objects
 * @returns JSON on one line by the number of the part among those that are objects
 */
export function argumentsIn(parts: readonly JsonObject[], data: string, place: number): ReadonlyMap<number, string> {
  if (!parts.some(({ functionCall }) => isObject(functionCall))) return none;
  const bytes = Buffer.from(data);
  const list = (start: number | undefined, key: string) => {
    const at = start === undefined ? undefined : memberOf(bytes, start, key);
    return at ? elementsOf(bytes, at.start).filter((element) => bytes[element.start] === openBrace) : [];
  };
  const candidate = list(0, "candidates")[place];
  const content = candidate && memberOf(bytes, candidate.start, "content");
  return new Map(
    list(content?.start, "parts").flatMap(({ start }, index) => {
      const call = memberOf(bytes, start, "functionCall");
      const args = call && memberOf(bytes, call.start, "args");
      return args ? [[index, oneLine(bytes.subarray(args.start, args.end))] as const] : [];
    }),
  );
}

/** Like a parser, the last of that name. */
const memberOf = (bytes: Buffer, start: number, key: string) =>
  membersOf(bytes, start).findLast((member) => member.key === key);
