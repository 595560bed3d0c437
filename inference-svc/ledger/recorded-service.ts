/** Calls to a service that is no model, written down like those to one. */
import { newUuid } from "@sluice/proto/runtime/id.js";
import type { CallOutcome, CallWatch } from "../internal/detection/detector.ts";
import type { Purpose } from "../turn/scope.ts";
import type { CallLedger } from "./ledger.ts";
import type { Closed } from "./record.ts";
import { type Callee, clientLeft, openedOf } from "./recorded.ts";

const ends: Readonly<Record<CallOutcome, Pick<Closed, "status" | "httpStatus">>> = {
  answered: { status: "completed", httpStatus: 200 },
  refused: { status: "failed", httpStatus: 502 },
  unreadable: { status: "failed", httpStatus: 502 },
  unreachable: { status: "failed", httpStatus: 502 },
  cancelled: { status: "cancelled", httpStatus: clientLeft },
};

/** What is asked of the service for nothing has no usage and no price. */
export const recordedService =
  (ledger: CallLedger, callee: Callee, purpose: Purpose): CallWatch =>
  (_, scope) => {
    const startedAt = performance.now();
    const inner = { ...scope, purpose, turnId: newUuid() };
    const entry = ledger.open(openedOf(1, callee, { stream: false }, inner), inner);
    return (outcome) =>
      entry.close({
        ...ends[outcome],
        durationMs: Math.round(performance.now() - startedAt),
        serviceTier: "",
        isEstimated: false,
      });
  };
