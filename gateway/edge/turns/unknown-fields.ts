/** Unknown and altered fields of a request. They are ignored or rewritten, as the contract promises, and reported in the receipt and in a header. */
import type { ServerResponse } from "node:http";
import type { RunTurnRequest, TurnStart, UnknownField } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { nearestWord } from "@sluice/proto/lib/validation/edit-distance.js";
import { maxExtraBytes, maxExtraFields } from "@sluice/proto/contract/request/extra-fields.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { type FieldNames, nameField } from "./field-names.ts";

export const warningHeader = "x-sluice-warning";

const maxNameLength = 64;
/** Maximum edit distance: two letters in a long name, one in a short name. */
const maxDistance = (name: string): number => (name.length > 5 ? 2 : 1);
const none: UnknownField[] = [];
const noBytes = new Uint8Array(0);
const closingBrace = Buffer.from("}");

/** The possible fields of a door's body. */
export class KnownFields {
  readonly #names: readonly string[];
  readonly #known: ReadonlySet<string>;

  constructor(names: readonly string[]) {
    this.#names = names;
    this.#known = new Set(names);
  }

  /** @param members of a body */
  unknownAmong(members: readonly JsonMember[]): UnknownField[] {
    let found = none;
    for (const { key } of members) {
      if (this.#known.has(key)) continue;
      if (found.length === maxExtraFields) break;
      found = [...found, this.#describe(key)];
    }
    return found;
  }

  /** @returns a JSON object of the unknown fields in the client's bytes, within the limits of `extra_json`; empty when there are none */
  extraJson(body: Buffer, members: readonly JsonMember[]): Uint8Array {
    const parts: Buffer[] = [];
    // Each member is preceded by a brace or a comma, and a brace ends the object.
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

/** Node rejects heads of more than 16 KiB: 16 paths together must be shorter. */
const maxPathLength = 256;

/** A path limited to the characters and length of a header. */
export const headerPath = (path: string): string => path.slice(0, maxPathLength).replaceAll(/[^\x20-\x7e]/g, "?");

/**
 * A field, by its path, that reaches no provider. Names stand in a header.
 * @param reason empty for an unknown field
 */
export const toUnknownField = (path: string, reason = ""): UnknownField => ({
  $typeName: "sluice.inference.v1.UnknownField",
  name: headerPath(path),
  didYouMean: "",
  reason,
});

/** Names the fields in a header of the answer. */
export function warnAboutUnknownFields(
  response: ServerResponse,
  { unknownFields }: Pick<RunTurnRequest, "unknownFields">,
): void {
  if (unknownFields.length > 0) response.setHeader(warningHeader, unknownFields.map(warningOf).join(", "));
}

/** Removes the warnings about fields that the provider received after all. */
export function removeWarnings(
  response: ServerResponse,
  { unknownFields }: Pick<RunTurnRequest, "unknownFields">,
  passed: readonly string[],
): void {
  // The head of a stream goes out before its first event if the event is late.
  if (response.headersSent) return;
  response.removeHeader(warningHeader);
  warnAboutUnknownFields(response, { unknownFields: unknownFields.filter(({ name }) => !passed.includes(name)) });
}

/**
 * Names in the same header the fields that affect the answer but were sent to the model in another form, and unknown fields noticed only by inference-svc.
 * @param names undefined when the format has the turn's field names
 */
export function warnAboutAlteredFields(
  response: ServerResponse,
  alteredFields: TurnStart["alteredFields"],
  names: FieldNames | undefined,
): void {
  // The head of a stream goes out before its first event if the event is late.
  if (response.headersSent) return;
  const warnings = alteredFields.map(({ path, reason }) =>
    fieldWarning(headerPath(names ? nameField(path, names) : path), reason),
  );
  const earlier = response.getHeader(warningHeader);
  response.setHeader(warningHeader, [...(earlier === undefined ? [] : [String(earlier)]), ...warnings].join(", "));
}

const warningOf = ({ name, didYouMean, reason }: UnknownField): string =>
  `${fieldWarning(name, reason)}${didYouMean === "" ? "" : `; did you mean ${didYouMean}?`}`;

/** @param reason empty for an unknown field */
export const fieldWarning = (name: string, reason: string): string =>
  reason === "" ? `unknown field ${name}` : `${name}: ${reason.replaceAll(/[^\x20-\x7e]/g, "?")}`;

function nearest(name: string, names: readonly string[]): string | undefined {
  const spelled = name.replaceAll(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();
  return nearestWord(spelled, names, maxDistance(name));
}
