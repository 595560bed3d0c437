/** Unknown and altered fields of a request. As the contract promises, they are ignored or rewritten, and reported in the receipt and in a header. */
import type { ServerResponse } from "node:http";
import type { RunTurnRequest, TurnStart, UnknownField } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { nearestWord } from "@sluice/proto/lib/validation/edit-distance.js";
import { maxExtraBytes, maxExtraFields } from "@sluice/proto/contract/request/extra-fields.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { type FieldNames, nameField } from "./field-names.ts";

export const warningHeader = "x-sluice-warning";

const maxNameLength = 64;
/** Maximum edit distance of a suggested name: two for a long name, one for a short name. */
const maxDistance = (name: string): number => (name.length > 5 ? 2 : 1);
const none: UnknownField[] = [];
const noBytes = new Uint8Array(0);
const closingBrace = Buffer.from("}");

/** The field names that the body of a door may have. */
export class KnownFields {
  readonly #names: readonly string[];
  readonly #known: ReadonlySet<string>;

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#known = new Set(names);
  }

  /** @param members top-level members of a body */
  unknownAmong(members: readonly JsonMember[]): UnknownField[] {
    let found = none;
    for (const { key } of members) {
      if (this.#known.has(key)) continue;
      if (found.length === maxExtraFields) break;
      found = [...found, this.#describe(key)];
    }
    return found;
  }

  /** @returns a JSON object of the unknown fields, as bytes of the client, within the limits of `extra_json`; empty without such fields */
  extraJson(body: Buffer, members: readonly JsonMember[]): Uint8Array {
    const parts: Buffer[] = [];
    // Counts the closing brace; every member brings the brace or comma before it.
    let size = 1;
    for (const { key, start, end } of members) {
      if (this.#known.has(key) || key.length > maxNameLength) continue;
      const name = Buffer.from(`${parts.length === 0 ? "{" : ","}${JSON.stringify(key)}:`);
      size += name.length + end - start;
      if (parts.length === 2 * maxExtraFields || size > maxExtraBytes) break;
      parts.push(name, body.subarray(start, end));
    }
    return parts.length === 0 ? noBytes : Buffer.concat([...parts, closingBrace]);
  }

  #describe(key: string): UnknownField {
    const name = key.slice(0, maxNameLength).replaceAll(/[^\x20-\x7e]/g, "?");
    return { ...toUnknownField(name), didYouMean: nearest(name, this.#names) ?? "" };
  }
}

/** Maximum length of a path in a header. Node rejects heads of more than 16 KiB, and 16 paths must fit in together. */
const maxPathLength = 256;

/** A path limited to the characters and length of a header. */
export const headerPath = (path: string): string => path.slice(0, maxPathLength).replaceAll(/[^\x20-\x7e]/g, "?");

/** A field that reaches no provider. Its path is shortened for use in a header.  @param reason empty for an unknown field */
export const toUnknownField = (path: string, reason = ""): UnknownField => ({
  $typeName: "sluice.inference.v1.UnknownField",
  name: headerPath(path),
  didYouMean: "",
  reason,
});

/** Lists the unknown fields of a request in a header of the answer. */
export function warnAboutUnknownFields(
  response: ServerResponse,
  { unknownFields }: Pick<RunTurnRequest, "unknownFields">,
): void {
  if (unknownFields.length > 0) response.setHeader(warningHeader, unknownFields.map(warningOf).join(", "));
}

/** Removes warnings about fields that the provider received after all, from the header of the answer. */
export function removeWarnings(
  response: ServerResponse,
  { unknownFields }: Pick<RunTurnRequest, "unknownFields">,
  passed: readonly string[],
): void {
  // If the first event is late, the head of a stream has already been sent.
  if (response.headersSent) return;
  response.removeHeader(warningHeader);
  warnAboutUnknownFields(response, { unknownFields: unknownFields.filter(({ name }) => !passed.includes(name)) });
}

/**
 * Adds to the header the fields that affect the answer but reached the model in another form, and unknown fields that only inference-svc noticed.
 * @param names undefined if the format has the field names of a turn
 */
export function warnAboutAlteredFields(
  response: ServerResponse,
  alteredFields: TurnStart["alteredFields"],
  names: FieldNames | undefined,
): void {
  // If the first event is late, the head of a stream has already been sent.
  if (response.headersSent) return;
  const warnings = alteredFields.map(({ path, reason }) =>
    fieldWarning(headerPath(names ? nameField(path, names) : path), reason),
  );
  const earlier = response.getHeader(warningHeader);
  response.setHeader(warningHeader, [...(earlier === undefined ? [] : [String(earlier)]), ...warnings].join(", "));
}

const warningOf = ({ name, didYouMean, reason }: UnknownField): string =>
  `${fieldWarning(name, reason)}${didYouMean === "" ? "" : `; did you mean ${didYouMean}?`}`;

/** A warning about one field. @param reason empty for an unknown field */
export const fieldWarning = (name: string, reason: string): string =>
  reason === "" ? `unknown field ${name}` : `${name}: ${reason.replaceAll(/[^\x20-\x7e]/g, "?")}`;

function nearest(name: string, names: readonly string[]): string | undefined {
  const spelled = name.replaceAll(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();
  return nearestWord(spelled, names, maxDistance(name));
}
