/** Records the calls of a detection service in the ledger. */
import { newUuid } from "@sluice/proto/lib/ids/id.js";
import type { OperationWord } from "@sluice/proto/lib/ledger/call-operation.js";
import type { CallOutcome, CallWatch } from "./detector.ts";
import type { CallLedger } from "../../models/ledger/ledger.ts";
import type { CalledEndpoint } from "../../models/ledger/recorded.ts";
import {
  type ServiceEnd,
  answeredCall,
  failedCall,
  cancelledCall,
  ServiceEntry,
} from "../../models/ledger/recorded-service.ts";

const ends: Readonly<Record<CallOutcome, ServiceEnd>> = {
  answered: answeredCall,
  refused: failedCall,
  unreadable: failedCall,
  unreachable: failedCall,
  cancelled: cancelledCall,
};

/** Recording of calls to a free service for the operator's own purposes, which have no usage and no price. */
export const recordedService =
  (ledger: CallLedger, callee: CalledEndpoint, operation: OperationWord): CallWatch =>
  async (_, scope) => {
    const inner = scope.with({ operation, payer: "operator", turnId: newUuid() });
    const entry = await ServiceEntry.open(ledger, callee, inner);
    return (outcome) => entry.close(ends[outcome]);
  };
