/** gRPC service for inference processes: stores usage records and reserves budgets. */
import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  BudgetScope,
  EndHoldsResponseSchema,
  type LedgerService,
  RaiseBudgetResponseSchema,
  RecordContentsResponseSchema,
  RecordUsageResponseSchema,
  ReleaseBudgetResponseSchema,
  RenewHoldsResponseSchema,
  ReserveBudgetResponseSchema,
  SettleHoldsResponseSchema,
  SumTaskSpendingResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { requireServiceToken } from "@sluice/proto/lib/rpc/caller.js";
import type { Kysely } from "kysely";
import {
  checkProcessIds,
  checkBudgetRaise,
  checkRelease,
  checkReservation,
  checkSettlements,
  parseUsageRecords,
} from "../rules/usage-records.ts";
import { insertContents } from "../store/contents.ts";
import type { Database } from "../store/database.ts";
import {
  type Reservation,
  type ReservationResult,
  dropReservations,
  raiseReservation,
  reserveBudget,
} from "../store/ledger/budgets.ts";
import { endHolds, renewHolds, settleHolds } from "../store/ledger/holds.ts";
import { sumTaskSpending } from "../store/ledger/task-spending.ts";
import { insertUsage } from "../store/ledger/usage.ts";
import { Batches, type WaitingItem } from "./batches.ts";
import { requireCapture, sealContents } from "./contents.ts";
import { withUnavailableOutage } from "./outage.ts";
import type { Deps } from "./deps.ts";
import { toRow } from "../store/ledger/usage-messages.ts";
import { toTurnRow } from "../store/ledger/turn-messages.ts";

const scopes = {
  key: BudgetScope.KEY,
  workspace: BudgetScope.WORKSPACE,
  guardrail: BudgetScope.GUARDRAIL,
  tag: BudgetScope.TAG,
} as const;

export function ledgerService({
  writes,
  folder,
  alerts,
  capture,
  serviceToken,
}: Deps): ServiceImpl<typeof LedgerService> {
  const reservations = new Reservations(writes);
  return {
    recordUsage: (request, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      const { records, turns } = parseUsageRecords(request);
      return withUnavailableOutage(async () => {
        const storedCount = await insertUsage(writes, records.map(toRow), turns.map(toTurnRow), alerts.around);
        folder.poke();
        return create(RecordUsageResponseSchema, { storedCount });
      });
    },
    reserveBudget: (request, { requestHeader, signal }) => {
      requireServiceToken(requestHeader, serviceToken);
      checkReservation(request);
      return withUnavailableOutage(async () => {
        const { budget, ...reserved } = await reservations.reserve(request.workspaceId, request, signal);
        return create(ReserveBudgetResponseSchema, { ...reserved, ...(budget && { budget: scopes[budget] }) });
      });
    },
    raiseBudget: (request, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      checkBudgetRaise(request);
      return withUnavailableOutage(async () => {
        await raiseReservation(writes, request);
        return create(RaiseBudgetResponseSchema);
      });
    },
    releaseBudget: (request, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      checkRelease(request);
      return withUnavailableOutage(async () => {
        await dropReservations(writes, [request]);
        return create(ReleaseBudgetResponseSchema);
      });
    },
    settleHolds: (request, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      checkSettlements(request);
      return withUnavailableOutage(async () => {
        return create(SettleHoldsResponseSchema, { busyCount: await settleHolds(writes, request.calls) });
      });
    },
    renewHolds: (request, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      checkProcessIds(request);
      return withUnavailableOutage(async () => {
        await renewHolds(writes, request.bootId, request.instance);
        return create(RenewHoldsResponseSchema);
      });
    },
    endHolds: (request, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      checkProcessIds(request);
      return withUnavailableOutage(async () => {
        await endHolds(writes, request.bootId);
        return create(EndHoldsResponseSchema);
      });
    },
    recordContents: (request, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      const rows = sealContents(request, requireCapture(capture(), "contents"));
      return withUnavailableOutage(async () =>
        create(RecordContentsResponseSchema, { storedCount: await insertContents(writes, rows) }),
      );
    },
    sumTaskSpending: (_, { requestHeader }) => {
      requireServiceToken(requestHeader, serviceToken);
      return withUnavailableOutage(async () => {
        const rows = await sumTaskSpending(writes);
        const spending = rows.map(({ cost_usd: costUsd, ...sum }) => ({ ...sum, costUsd }));
        return create(SumTaskSpendingResponseSchema, { spending });
      });
    },
  };
}

/**
 * Maximum number of reservations in a transaction. It holds the lock of the workspace, so its other reservations wait
 * until it ends.
 */
const maxReservations = 128;

/**
 * Batches reservations by workspace. They wait in this process instead of in the database, where each would hold a
 * connection.
 */
class Reservations {
  readonly #database: Kysely<Database>;
  readonly #batches: Batches<Reservation, ReservationResult>;

  constructor(database: Kysely<Database>) {
    this.#database = database;
    this.#batches = new Batches({
      take: (waiting) => waiting.splice(0, maxReservations),
      work: (batch) => this.#decide(batch),
    });
  }

  /** @param signal aborted when the process that reserves no longer waits; its reservation is then dropped */
  reserve(workspaceId: string, reservation: Reservation, signal: AbortSignal): Promise<ReservationResult> {
    return this.#batches.join(workspaceId, reservation, signal);
  }

  async #decide(batch: readonly WaitingItem<Reservation, ReservationResult>[]): Promise<void> {
    const decided = await reserveBudget(
      this.#database,
      batch.map(({ item }) => item),
    );
    const lost = batch.filter(({ signal }) => signal.aborted);
    for (const [index, { resolve }] of batch.entries()) resolve(decided[index] as ReservationResult);
    // Without this, an unused reservation would hold its amount for as long as its process lives. It is dropped before
    // the next batch, which may contain a retry of the same call.
    if (lost.length > 0)
      await dropReservations(
        this.#database,
        lost.map(({ item }) => item),
      );
  }
}
