/** Brings the records of calls that are over to admin-svc: each batch until it is taken, and the next one only then. */
import type { ServiceToken } from "@sluice/proto/runtime/rpc/service-token.js";
import { appendFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import type { Client } from "@grpc/grpc-js";
import { LedgerService, RecordUsageRequestSchema } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { Logger } from "@sluice/proto/runtime/log.js";
import { call, serviceMetadata } from "@sluice/proto/runtime/rpc/dial.js";
import type { SpoolReader } from "./reader.ts";

const mostRecords = 500;
/** Long enough for a batch, short enough for whoever looks up what was just answered. */
const lingerMs = 200;
const shortestPauseMs = 200;
const longestPauseMs = 5_000;
const timeoutMs = 10_000;

export interface DeliveryParts {
  readonly reader: SpoolReader;
  readonly client: Client;
  readonly token: ServiceToken;
  readonly log: Logger;
  /** For what admin-svc will never take. */
  readonly directory: string;
  /** Called with what need not be kept any more. */
  readonly onDelivered: (records: readonly Buffer[]) => void;
}

const refusedIn = (directory: string): string => join(directory, "refused.jsonl");

/** Of all that admin-svc has refused since somebody last took the file away. */
export const refusedBytes = (directory: string): number =>
  statSync(refusedIn(directory), { throwIfNoEntry: false })?.size ?? 0;

export class Delivery {
  readonly #parts: DeliveryParts;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  #wake = () => {};
  #dirty = true;
  #closing = false;
  /** The last try failed. */
  #failing = false;

  constructor(parts: DeliveryParts) {
    this.#parts = parts;
    this.#running = this.#run();
  }

  /** There is something to deliver. */
  wake(): void {
    this.#dirty = true;
    this.#wake();
  }

  /** Tries to deliver all that is left. What still is left after that waits for the next start. */
  async close(limitMs: number): Promise<void> {
    const limit = setTimeout(() => this.#stop.abort(), limitMs);
    this.#closing = true;
    this.wake();
    await this.#running;
    clearTimeout(limit);
    await this.#parts.reader.close();
  }

  async #run(): Promise<void> {
    let pauseMs = shortestPauseMs;
    while (await this.#due()) {
      this.#dirty = false;
      try {
        await this.#deliver();
        this.#recovered();
        pauseMs = shortestPauseMs;
      } catch (error) {
        this.#failed(error);
        this.#dirty = true;
        await this.#pause(pauseMs * (0.5 + Math.random()));
        pauseMs = Math.min(longestPauseMs, 2 * pauseMs);
      }
    }
  }

  /** Waits until there is something to deliver. @returns false when this is over */
  async #due(): Promise<boolean> {
    if (!this.#dirty && !this.#closing) await this.#woken();
    if (!this.#closing) await this.#pause(lingerMs);
    return this.#dirty && !this.#stop.signal.aborted;
  }

  async #deliver(): Promise<void> {
    const { reader, onDelivered } = this.#parts;
    for (;;) {
      const portion = await reader.read(mostRecords);
      if (portion === undefined) return;
      if (portion.records.length > 0) await this.#send(portion.records);
      onDelivered(portion.records);
      reader.advance(portion.next);
      if (this.#stop.signal.aborted) return;
    }
  }

  /** One that is refused must not hold up the others: then each goes alone, and that one is kept aside. */
  async #send(records: readonly Buffer[]): Promise<void> {
    try {
      await this.#record(records);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      if (records.length === 1) return this.#keepAside(records, error);
      for (const record of records) await this.#send([record]);
    }
  }

  async #record(records: readonly Buffer[]): Promise<void> {
    const { client, token } = this.#parts;
    const request = create(RecordUsageRequestSchema, { recordsJson: [...records] });
    await call(client, LedgerService.method.recordUsage, request, serviceMetadata(token), timeoutMs);
  }

  #keepAside(records: readonly Buffer[], error: unknown): void {
    const { directory, log } = this.#parts;
    for (const record of records) appendFileSync(refusedIn(directory), `${record.toString("utf8")}\n`, { mode: 0o600 });
    log.error({ err: error }, "usage record refused, kept in refused.jsonl");
  }

  #failed(error: unknown): void {
    if (!this.#failing) this.#parts.log.warn({ err: error }, "usage records cannot be delivered, kept in the spool");
    this.#failing = true;
  }

  #recovered(): void {
    if (this.#failing) this.#parts.log.info("usage records are delivered again");
    this.#failing = false;
  }

  #woken(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stop.signal }).catch(() => {});
  }
}

const isRefusal = (error: unknown): boolean => error instanceof Fault && error.reason === FaultReason.INVALID_REQUEST;
