/** Reads request fields outside the contract. */
import { maxExtraBytes, maxExtraFields } from "@sluice/proto/contract/request/extra-fields.js";
import { openBrace } from "@sluice/proto/lib/json/bytes.js";
import { membersOf } from "@sluice/proto/lib/json/span.js";
import type { Problems } from "@sluice/proto/lib/validation/problems.js";

/** @param json an object @returns JSON texts of the fields as the client wrote them; undefined when there are none */
export function parseExtraFields(
  json: Buffer | undefined,
  problems: Problems,
): Readonly<Record<string, string>> | undefined {
  if (json === undefined) return undefined;
  const before = problems.count;
  if (json.length > maxExtraBytes) problems.add("extra", `at most ${maxExtraBytes} bytes`);
  if (json[0] !== openBrace) problems.add("extra", "must be an object");
  if (problems.count > before) return undefined;
  const members = membersOf(json);
  if (members.length > maxExtraFields) problems.add("extra", `at most ${maxExtraFields} fields`);
  return Object.fromEntries(members.map(({ key, start, end }) => [key, json.toString("utf8", start, end)]));
}
