/**
 * Delivers the records of finished calls to admin-svc in batches, one after the other; a batch is repeated until it is
 * accepted. Under load a batch waits until it is full, because a call of admin-svc costs as much as many records. It
 * waits less while a budget holds an amount for one of its calls.
 */
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import { appendFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "@grpc/grpc-js";
import {
  LedgerService,
  type RecordUsageRequest,
  RecordUsageRequestSchema,
} from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { callEncoded, codec, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { RecordBatch } from "@sluice/proto/lib/ledger/record-batch.js";
import type { SpoolPortion, SpoolReader } from "./reader.ts";

/** Maximum number of records per call to admin-svc. */
const maxRecords = 500;
/** Milliseconds for which a batch is collected, short enough that a client soon finds the record of its last turn. */
const lingerMs = 200;
/** Maximum milliseconds a record waits for its batch to become full. */
const maxLingerMs = 1_000;
/** Bytes of records that signal load, those of some fifty calls: with fewer in `lingerMs`, a batch does not become full in time. */
const busyBytes = 48 * 1024;
/** Bytes of records with which a batch is full, those of `maxRecords` calls. */
const fullBytes = 480 * 1024;
const minPauseMs = 200;
const maxPauseMs = 5_000;
const timeoutMs = 10_000;
const lineFeed = Buffer.from("\n");

export interface DeliveryDeps {
  readonly reader: SpoolReader;
  readonly client: Client;
  readonly token: ServiceToken;
  readonly log: Logger;
  /** Folder for records admin-svc refuses for good. */
  readonly directory: string;
  /** Called with the number of delivered records this start of the process wrote. */
  readonly onDelivered: (count: number) => void;
  /** Called when the files of earlier starts of the process are read and delivered, possibly several times. */
  readonly onReadEarlier: () => void;
}

const refusedIn = (directory: string): string => join(directory, "refused.jsonl");

/** Bytes of the file with refused records, which stays until an operator removes it. */
export const refusedBytes = (directory: string): number =>
  statSync(refusedIn(directory), { throwIfNoEntry: false })?.size ?? 0;

export class Delivery {
  readonly #parts: DeliveryDeps;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;
  /** Ends the wait for records; undefined while delivery does not wait, because settling a promise again takes a slow path in V8. */
  #wake: (() => void) | undefined;
  #dirty = true;
  /** Whether a budget holds an amount for a call among the unread records. */
  #isUrgent = false;
  #closing = false;
  /** Whether delivery is failing; a failure is logged only once. */
  #failing = false;

  constructor(parts: DeliveryDeps) {
    this.#parts = parts;
    this.#running = this.#run();
  }

  /** Starts the delivery of a new record. @param isUrgent whether a budget holds an amount for its call until it is stored */
  wake(isUrgent: boolean): void {
    this.#dirty = true;
    this.#isUrgent ||= isUrgent;
    this.#wake?.();
    this.#wake = undefined;
  }

  /** Tries to deliver all records within this time in milliseconds. The rest waits on disk for the next start. */
  async close(limitMs: number): Promise<void> {
    const limit = setTimeout(() => this.#stop.abort(), limitMs);
    this.#closing = true;
    this.wake(true);
    await this.#running;
    clearTimeout(limit);
    await this.#parts.reader.close();
  }

  async #run(): Promise<void> {
    let pauseMs = minPauseMs;
    while (await this.#due()) {
      this.#dirty = false;
      try {
        await this.#deliver();
        if (this.#parts.reader.hasReadEarlier) this.#parts.onReadEarlier();
        this.#recovered();
        pauseMs = minPauseMs;
      } catch (error) {
        this.#failed(error);
        this.#dirty = true;
        await this.#pause(pauseMs * (0.5 + Math.random()));
        pauseMs = Math.min(maxPauseMs, 2 * pauseMs);
      }
    }
  }

  /** Waits until records are due. @returns false when delivery has ended */
  async #due(): Promise<boolean> {
    if (!this.#dirty && !this.#closing) await this.#woken();
    await this.#linger();
    return this.#dirty && !this.#stop.signal.aborted;
  }

  async #linger(): Promise<void> {
    const { reader } = this.#parts;
    for (let ms = 0; ms < maxLingerMs && !this.#closing; ms += lingerMs) {
      await this.#pause(lingerMs);
      const { unreadBytes } = reader;
      if (this.#isUrgent || unreadBytes < busyBytes || unreadBytes >= fullBytes) return;
    }
  }

  /** Delivers batches until the remaining records do not fill one. These wait again for more. */
  async #deliver(): Promise<void> {
    const { reader } = this.#parts;
    do {
      const portion = await reader.read(maxRecords);
      if (portion === undefined) return;
      await this.#deliverPortion(portion);
      if (this.#stop.signal.aborted) return;
    } while (this.#closing || reader.unreadBytes >= fullBytes);
    if (reader.unreadBytes > 0) this.#dirty = true;
    else this.#isUrgent = false;
  }

  async #deliverPortion(portion: SpoolPortion): Promise<void> {
    const { reader, onDelivered } = this.#parts;
    const { records, next } = portion;
    if (records.count > 0) await this.#send(records);
    if (next.segment.isOwn) onDelivered(records.count);
    reader.advance(portion);
  }

  /**
   * Sends a batch. If admin-svc refuses it, each record is sent by itself, so the refused one is set aside and does not
   * hold up the others.
   */
  async #send(batch: RecordBatch): Promise<void> {
    try {
      await this.#record(batch.message);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      for (const message of batch.messages) await this.#sendAlone(message);
    }
  }

  async #sendAlone(message: RecordUsageRequest): Promise<void> {
    try {
      await this.#record(codec(RecordUsageRequestSchema).encode(message));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      for (const record of [...message.recordsJson, ...message.turnsJson]) this.#keepAside(record, error);
    }
  }

  async #record(message: Buffer): Promise<void> {
    const { client, token } = this.#parts;
    await callEncoded(client, LedgerService.method.recordUsage, message, serviceMetadata(token), timeoutMs);
  }

  #keepAside(record: Uint8Array, error: unknown): void {
    const { directory, log } = this.#parts;
    appendFileSync(refusedIn(directory), Buffer.concat([record, lineFeed]), { mode: 0o600 });
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
