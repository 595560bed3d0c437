/**
 * Settles calls of earlier starts of this process that have files in the spool. Once their records are delivered,
 * amounts that are still held belong to calls that never began, and are released. If a file is damaged, this is
 * uncertain, and the held amounts are charged.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { type SettlementDeps, endHolds } from "./settlements.ts";
import type { Segment } from "./spool.ts";

/** Milliseconds between tries while admin-svc cannot be reached. */
const retryMs = 5_000;

export class EarlierStarts {
  readonly #parts: Pick<SettlementDeps, "client" | "token" | "log">;
  readonly #segments: readonly Segment[];
  readonly #bootIds: Set<string>;

  /** @param segments the files of earlier starts */
  constructor(parts: Pick<SettlementDeps, "client" | "token" | "log">, segments: readonly Segment[]) {
    this.#parts = parts;
    this.#segments = segments;
    this.#bootIds = new Set(segments.map(({ bootId }) => bootId));
  }

  /** Notes that a file is damaged, so its last records are unknown. */
  damaged({ bootId }: Segment): void {
    this.#bootIds.delete(bootId);
  }

  /** Called when all files of earlier starts are read, and their records delivered. */
  read(): void {
    if (this.#bootIds.size === 0 || this.#segments.some(({ open }) => open > 0)) return;
    for (const bootId of this.#bootIds) void this.#end(bootId);
    this.#bootIds.clear();
  }

  async #end(bootId: string): Promise<void> {
    for (;;) {
      try {
        return await endHolds(this.#parts, bootId);
      } catch (err) {
        if (!(err instanceof Fault) || err.reason === FaultReason.INTERNAL) {
          return this.#parts.log.warn({ err }, "what budgets hold for calls of an earlier start is not released");
        }
      }
      await delay(retryMs, undefined, { ref: false });
    }
  }
}
