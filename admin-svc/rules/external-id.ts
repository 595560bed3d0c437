/** Checks an external id, given to a record by another program. */
import { externalId } from "@sluice/proto/contract/operations/operation.js";
import { throwProblems, invalid } from "@sluice/proto/lib/validation/problems.js";

/** @throws Fault INVALID_REQUEST when a record is named twice */
export function checkOnlyExternalId(externalId: string, other: string, field: string): void {
  if (other !== "") throw invalid("external_id", `not beside ${field}`);
  checkExternalId(externalId);
}

/** @throws Fault INVALID_REQUEST */
export const checkExternalId = (text: string): void =>
  throwProblems((problems) => externalId.shape.check(text, "external_id", problems));
