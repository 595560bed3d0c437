/**
 * Fields that decide about an answer and were not sent to the model as they were written, and fields that do not exist where only inference-svc reads
 * them: a header of the answer names them beside the receipt.
 */
import type { ServerResponse } from "node:http";
import type { TurnStart } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { type FieldNames, nameField } from "./field-names.ts";
import { headerPath, unknownFieldWarning, warningHeader } from "./unknown-fields.ts";

/** @param names undefined where the format has the names of the turn */
export function warnAboutAlteredFields(
  response: ServerResponse,
  { alteredFields }: Pick<TurnStart, "alteredFields">,
  names: FieldNames | undefined,
): void {
  // The head of a stream goes out before its first event when that one is late.
  if (alteredFields.length === 0 || response.headersSent) return;
  const warnings = alteredFields.map(({ path, reason }) => {
    const name = headerPath(names ? nameField(path, names) : path);
    return reason === "" ? unknownFieldWarning(name) : `${name}: ${reason.replaceAll(/[^\x20-\x7e]/g, "?")}`;
  });
  const earlier = response.getHeader(warningHeader);
  response.setHeader(warningHeader, [...(earlier === undefined ? [] : [String(earlier)]), ...warnings].join(", "));
}
