/** Takes in what the processes that call providers have written down. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  BudgetScope,
  type LedgerService,
  RaiseBudgetResponseSchema,
  RecordUsageResponseSchema,
  ReleaseBudgetResponseSchema,
  ReserveBudgetResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { requireServiceToken } from "@sluice/proto/runtime/rpc/caller.js";
import { checkRaise, checkRelease, checkReservation, readUsageRecords } from "../rules/usage-records.ts";
import { dropReservations, raiseReservation } from "../store/budgets.ts";
import { insertUsage } from "../store/usage.ts";
import { orUnavailable } from "./outage.ts";
import type { Parts } from "./parts.ts";
import { Reservations } from "./reservations.ts";
import { rowOf } from "./usage-record.ts";

const scopes = {
  key: BudgetScope.KEY,
  workspace: BudgetScope.WORKSPACE,
  guardrail: BudgetScope.GUARDRAIL,
} as const;

export function ledgerService({ writes, serviceToken }: Parts): ServiceImpl<typeof LedgerService> {
  const reservations = new Reservations(writes);
  return {
    recordUsage: ({ recordsJson }, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      const records = readUsageRecords(recordsJson);
      return orUnavailable(async () => {
        const storedCount = await insertUsage(writes, records.map(rowOf));
        return create(RecordUsageResponseSchema, { storedCount });
      });
    },
    reserveBudget: (request, { requestHeader, signal }) => {
      requireServiceToken(requestHeader, serviceToken);
      checkReservation(request);
      return orUnavailable(async () => {
        const { budget, ...reserved } = await reservations.reserve(request.workspaceId, request, signal);
        return create(ReserveBudgetResponseSchema, { ...reserved, ...(budget && { budget: scopes[budget] }) });
      });
    },
    raiseBudget: (request, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      checkRaise(request);
      return orUnavailable(async () => {
        await raiseReservation(writes, request);
        return create(RaiseBudgetResponseSchema);
      });
    },
    releaseBudget: (request, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      checkRelease(request);
      return orUnavailable(async () => {
        await dropReservations(writes, [request]);
        return create(ReleaseBudgetResponseSchema);
      });
    },
  };
}
