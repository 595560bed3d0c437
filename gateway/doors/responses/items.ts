/** Writes the input of a body as items, to be joined with others. */
import { openBracket, quote } from "@sluice/proto/lib/json/bytes.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { invalid } from "@sluice/proto/lib/validation/problems.js";

/**
 * The input's items, without brackets; empty if the body has no input. An input string becomes the equivalent message.  @throws Fault INVALID_REQUEST
 * for an input of another type, which could be mistaken for an item
 */
export function readInputItems(body: Buffer, members: readonly JsonMember[]): string {
  const input = members.find(({ key }) => key === "input");
  if (input === undefined) return "";
  const text = body.toString("utf8", input.start, input.end);
  if (body[input.start] === quote) return `{"type":"message","role":"user","content":${text}}`;
  if (body[input.start] !== openBracket) throw invalid("input", "must be a string or an array");
  return text.slice(1, -1).trim();
}
