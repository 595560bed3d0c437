/**
 * Updates the spending by task, by which auto routers rank models, at the start and then every hour. While admin-svc
 * cannot be reached, the last sums stay in use; before the first sums, only the scores of the catalogue count.
 */
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { LedgerService, SumTaskSpendingRequestSchema } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { TaskSpending } from "./task-spending.ts";

const timeoutMs = 30_000;
const refreshMs = 3_600_000;
const retryMs = 60_000;

export interface LearnedSpendingDeps {
  readonly client: Client;
  readonly token: ServiceToken;
  readonly spending: TaskSpending;
  /** Share of the requests whose task is recorded, from 0 to 1, as in the current configuration file. */
  readonly share: () => number;
  readonly log: Pick<Logger, "warn">;
}

export class LearnedSpending {
  readonly #parts: LearnedSpendingDeps;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(parts: LearnedSpendingDeps) {
    this.#parts = parts;
  }

  /** Fetches the sums now, and again after a pause. Never rejects. */
  async refresh(): Promise<void> {
    clearTimeout(this.#timer);
    const pauseMs = await this.#refresh();
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    // The pause is random, so processes started together do not send their queries together.
    this.#timer = setTimeout(() => void this.refresh(), pauseMs * (0.9 + 0.2 * Math.random())).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Fetches the sums. @returns milliseconds until the next time */
  async #refresh(): Promise<number> {
    const { spending, share, log } = this.#parts;
    if (share() === 0) {
      spending.replace([]);
      return refreshMs;
    }
    try {
      const sums = await this.#sums();
      // A reload may have turned the recording off meanwhile.
      const recorded = share();
      // Scales the sums up, because requests whose task was not recorded cost about as much as the recorded ones.
      spending.replace(recorded === 0 ? [] : sums.map(({ usd, ...sum }) => ({ ...sum, usd: usd / recorded })));
      return refreshMs;
    } catch (error) {
      log.warn({ err: error }, "spending by task cannot be read; auto routers rank as before");
      return retryMs;
    }
  }

  async #sums() {
    const { client, token } = this.#parts;
    const request = create(SumTaskSpendingRequestSchema);
    const method = LedgerService.method.sumTaskSpending;
    const { spending } = await call(client, method, request, serviceMetadata(token), timeoutMs);
    return spending.map(({ task, model, costUsd }) => ({ task, model, usd: Number(costUsd) }));
  }
}
