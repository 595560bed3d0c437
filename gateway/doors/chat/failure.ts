/** Writes a failure after the beginning of a stream: members of the last chunk, on which clients throw. */
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { faultBody } from "../../edge/http/errors.ts";

/** Members without braces, `error` first. @param usageJson of tokens consumed by a withheld answer */
export const faultMembers = (fault: Fault, metadataAlias: string | undefined, usageJson: string | undefined): string =>
  faultBody(fault, { metadataAlias, usageJson }).toString().slice(1, -1);
