/** A whole answer as the events of a stream: there is no second way to read it. */
import { openBrace } from "@sluice/proto/runtime/validation/json-bytes.js";
import { elementsOf, membersOf } from "@sluice/proto/runtime/validation/json-span.js";
import { type JsonObject, isObject, objects, text } from "../json.ts";
import type { Blocks } from "./blocks.ts";

/** @param data the answer as JSON */
export function readBlocks(content: unknown, data: string, blocks: Blocks): void {
  const inputs = inputsOf(content, data);
  for (const [index, block] of objects(content).entries()) {
    const { toolUse, reasoningContent, citationsContent } = block;
    if (isObject(toolUse)) {
      blocks.begin(index, block);
      blocks.delta(index, { toolUse: { input: inputs.get(index) ?? "" } });
    } else if (isObject(reasoningContent)) {
      for (const delta of thoughtsOf(reasoningContent)) blocks.delta(index, { reasoningContent: delta });
    } else {
      const texts = isObject(citationsContent) ? objects(citationsContent.content) : [block];
      for (const part of texts) blocks.delta(index, { text: text(part.text) });
    }
    blocks.stop(index);
  }
}

function thoughtsOf({ reasoningText, redactedContent }: JsonObject): readonly JsonObject[] {
  if (!isObject(reasoningText)) return [{ redactedContent }];
  const { text: thought, signature } = reasoningText;
  return [{ text: thought }, ...(text(signature) === "" ? [] : [{ signature }])];
}

/** The inputs of calls by the number of the block among those that are objects, as they were written: parsing would round their numbers. */
function inputsOf(content: unknown, data: string): ReadonlyMap<number, string> {
  if (!objects(content).some(({ toolUse }) => isObject(toolUse))) return new Map();
  const bytes = Buffer.from(data);
  const within = (start: number | undefined, key: string) =>
    start === undefined || bytes[start] !== openBrace
      ? undefined
      : membersOf(bytes, start).findLast((member) => member.key === key);
  const list = within(within(within(0, "output")?.start, "message")?.start, "content");
  const blocks = list ? elementsOf(bytes, list.start).filter(({ start }) => bytes[start] === openBrace) : [];
  return new Map(
    blocks.flatMap(({ start }, index) => {
      const input = within(within(start, "toolUse")?.start, "input");
      return input ? [[index, bytes.toString("utf8", input.start, input.end)] as const] : [];
    }),
  );
}
