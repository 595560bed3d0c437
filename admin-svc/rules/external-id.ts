/** Checks an external id: the id that another program has given to a record. */
import { externalId } from "@sluice/proto/contract/operations/operation.js";
import { throwProblems, invalid } from "@sluice/proto/lib/validation/problems.js";

/** @throws Fault INVALID_REQUEST when a request names a record both by its external id and by its own id */
export function checkOnlyExternalId(externalId: string, other: string, field: string): void {
  if (other !== "") throw invalid("external_id", `not beside ${field}`);
  checkExternalId(externalId);
}

/** @throws Fault INVALID_REQUEST unless the text is a valid external id */
export const checkExternalId = (text: string): void =>
  throwProblems((problems) => externalId.shape.check(text, "external_id", problems));
