/**
 * Header with the request's altered and unknown fields: fields that affect the answer but were sent to the model in another form, and unknown fields
 * noticed only by inference-svc. The receipt contains them, too.
 */
import type { ServerResponse } from "node:http";
import type { TurnStart } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { type FieldNames, nameField } from "./field-names.ts";
import { fieldWarning, headerPath, warningHeader } from "./unknown-fields.ts";

/** @param names undefined when the format has the turn's field names */
export function warnAboutAlteredFields(
  response: ServerResponse,
  { alteredFields }: Pick<TurnStart, "alteredFields">,
  names: FieldNames | undefined,
): void {
  // The head of a stream goes out before its first event if the event is late.
  if (alteredFields.length === 0 || response.headersSent) return;
  const warnings = alteredFields.map(({ path, reason }) => {
    return fieldWarning(headerPath(names ? nameField(path, names) : path), reason);
  });
  const earlier = response.getHeader(warningHeader);
  response.setHeader(warningHeader, [...(earlier === undefined ? [] : [String(earlier)]), ...warnings].join(", "));
}
