/** Writes a failure after the beginning of a stream, as members of the last chunk; clients recognize them and throw. */
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { faultBody } from "../../edge/http/errors.ts";

/** Members of a chunk without braces, `error` first. @param usageJson tokens consumed by an answer that was not delivered */
export const faultMembers = (fault: Fault, metadataAlias: string | undefined, usageJson: string | undefined): string =>
  faultBody(fault, { metadataAlias, usageJson }).toString().slice(1, -1);
