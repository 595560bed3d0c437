/** Checks the filters of an audit search, over gRPC and on the command line. */
import { auditFilter } from "@sluice/proto/contract/records/audit.js";
import { plainAddress } from "@sluice/proto/lib/networks/networks.js";
import { throwProblems } from "@sluice/proto/lib/validation/problems.js";
import { object } from "@sluice/proto/lib/validation/shape.js";

/** The unparsed filter: times are ISO 8601 texts. */
export interface UnparsedAuditFilter {
  readonly actor?: string | undefined;
  readonly target?: string | undefined;
  readonly action?: string | undefined;
  readonly address?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly q?: string | undefined;
}

const shape = object(auditFilter);

/** @throws Fault INVALID_REQUEST with every problem */
export function readAuditFilter(given: UnparsedAuditFilter) {
  throwProblems((problems) => shape.check(given, "", problems));
  const { actor, target, action, address, from, to, q } = given;
  return {
    actor,
    target,
    action,
    address: address && plainAddress(address),
    from: timeOf(from),
    to: timeOf(to),
    text: q,
  };
}

const timeOf = (text: string | undefined): Date | undefined => (text === undefined ? undefined : new Date(text));
