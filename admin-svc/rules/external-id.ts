/** Checks the id that another program gives to a record. */
import { externalId } from "@sluice/proto/contract/operations/operation.js";
import { checked } from "@sluice/proto/runtime/validation/problems.js";

/** @throws Fault INVALID_REQUEST */
export const checkExternalId = (text: string): void =>
  checked((problems) => externalId.shape.check(text, "external_id", problems));
