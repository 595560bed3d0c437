/**
 * The ledger of this process: every call to a provider is written down before its first byte leaves, and its end before anybody is told of it.
 * From the files of the spool the ends go to admin-svc; a process that is killed leaves its calls there, and its next start says of each
 * that it is lost.
 */
import type { ServiceToken } from "@sluice/proto/runtime/rpc/service-token.js";
import { randomUUID } from "node:crypto";
import type { Client } from "@grpc/grpc-js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import type { Logger } from "@sluice/proto/runtime/log.js";
import { type Registry, gauge } from "@sluice/proto/runtime/metrics.js";
import type { Span } from "@sluice/proto/runtime/tracing/span.js";
import type { Scope } from "../turn/scope.ts";
import { Delivery, refusedBytes } from "./delivery.ts";
import { SpoolReader } from "./reader.ts";
import { type Closed, type Noted, type Opened, callOf, closedLine, lostEnd, notedLine, openedLine } from "./record.ts";
import { unfinished } from "./recovery.ts";
import { Spool } from "./spool.ts";

/** About two million records: then nothing is begun any more that could not be written down. */
const limitBytes = 1024 * 1024 * 1024;

/** A disk that is full is tried again. */
const retryMs = 250;

export interface LedgerOptions {
  /** Of this process alone; what an earlier start has left in it is delivered first. */
  readonly directory: string;
  /** Name of the process. */
  readonly instance: string;
  /** admin-svc. */
  readonly client: Client;
  readonly token: ServiceToken;
  readonly log: Logger;
  readonly registry: Registry;
}

/** Where calls are written down. */
export interface CallLedger {
  /** @throws Fault UNAVAILABLE when it cannot be written down: then the call must not be made */
  open(opened: Opened, scope: Scope): Entry;
}

/** A call that was begun. */
export interface Entry {
  /** Its end, written down when this returns; only the first one counts. */
  close(closed: Closed): void;
  /** Written down for the case that this process is killed before the end: what the call is charged then. */
  note(noted: Noted): void;
  /** Of the call, where it is traced. */
  readonly span?: Span;
}

export class Ledger implements CallLedger {
  readonly #options: LedgerOptions;
  readonly #bootId = randomUUID();
  readonly #spool: Spool;
  readonly #delivery: Delivery;
  /** Of the last end that was written. */
  #sequence = 0;
  /** Ends of this start that were delivered. */
  #delivered = 0;
  /** performance.now() of the last delivery, or of the first record after all were delivered. */
  #waitingSince: number | undefined;
  #open = 0;
  /** Ends of calls that are not written down yet. */
  readonly #ends: { readonly call: string; readonly line: string; readonly closed: Closed }[] = [];
  #retry: NodeJS.Timeout | undefined;

  /** @throws when the directory cannot be written to */
  constructor(options: LedgerOptions) {
    const { directory, client, token, log, registry } = options;
    this.#options = options;
    this.#spool = new Spool({
      directory,
      bootId: this.#bootId,
      startedAtMs: Date.now(),
      onSyncFailure: (error) => log.error({ err: error }, "usage records are not on the disk yet"),
    });
    const reader = new SpoolReader(this.#spool, ({ path }, offset) =>
      log.error({ file: path, offset }, "usage records end in what is no record"),
    );
    const onDelivered = (records: readonly Buffer[]) => this.#count(records);
    this.#delivery = new Delivery({ reader, client, token, log, directory, onDelivered });
    this.#recover();
    gauge(
      registry,
      "sluice_ledger_spool_bytes",
      "Bytes of usage records on the disk of this process.",
      () => this.#spool.size,
    );
    gauge(
      registry,
      "sluice_ledger_refused_bytes",
      "Bytes of usage records that admin-svc has refused and that lie in refused.jsonl.",
      () => refusedBytes(directory),
    );
    gauge(
      registry,
      "sluice_ledger_undelivered_records",
      "Usage records that this process has written and not delivered.",
      () => this.#sequence - this.#delivered,
    );
    gauge(
      registry,
      "sluice_ledger_delivery_delay_seconds",
      "While records wait: seconds since some were delivered, or since they began to wait. 0 when none waits.",
      () => (this.#waitingSince === undefined ? 0 : (performance.now() - this.#waitingSince) / 1_000),
    );
    gauge(registry, "sluice_ledger_open_attempts", "Calls to providers under way.", () => this.#open);
  }

  /** @throws Fault UNAVAILABLE when it cannot be written down: then the call must not be made */
  open(opened: Opened): Entry {
    if (this.#spool.size >= limitBytes) throw unavailable(new Error("the spool is full"));
    if (!this.#writeEnds()) throw unavailable(new Error("ends of other calls wait for room on the disk"));
    const call = callOf(opened);
    const line = openedLine(opened);
    try {
      this.#spool.append(call, line);
    } catch (cause) {
      throw unavailable(cause);
    }
    this.#open++;
    let over = false;
    return {
      note: (noted) => {
        if (!over) this.#note(call, notedLine(opened, noted));
      },
      close: (closed) => {
        if (over) return;
        over = true;
        this.#open--;
        this.#close(call, line, closed);
      },
    };
  }

  /** Delivers what is left for so long as it is given. */
  async close(limitMs: number): Promise<void> {
    const isWritten = this.#writeEnds();
    clearTimeout(this.#retry);
    await this.#delivery.close(limitMs);
    this.#spool.close(isWritten && this.#open === 0 && this.#delivered === this.#sequence);
  }

  /** They come in their order. Those of earlier starts were never counted here. */
  #count(records: readonly Buffer[]): void {
    this.#delivered += records.filter((record) => record.includes(this.#bootId)).length;
    this.#waitingSince = this.#delivered === this.#sequence ? undefined : performance.now();
  }

  /** A note that finds no room is left out: the one before it stands. */
  #note(call: string, line: string): void {
    try {
      this.#spool.append(call, line);
    } catch (error) {
      this.#options.log.warn({ err: error, call }, "what a call has cost until now cannot be written down");
    }
  }

  /** An end that finds no room on the disk waits in memory, and the client does not wait for it. */
  #close(call: string, line: string, closed: Closed): void {
    this.#ends.push({ call, line, closed });
    this.#writeEnds();
  }

  /** In their order. @returns whether all are written */
  #writeEnds(): boolean {
    for (let end = this.#ends[0]; end; end = this.#ends[0]) {
      const { call, line, closed } = end;
      const counted = { bootId: this.#bootId, sequence: this.#sequence + 1, instance: this.#options.instance };
      try {
        this.#spool.append(call, closedLine(line, closed, counted));
      } catch (error) {
        if (this.#ends.length === 1)
          this.#options.log.error({ err: error, call }, "the end of a call waits for room on the disk");
        clearTimeout(this.#retry);
        this.#retry = setTimeout(() => this.#writeEnds(), retryMs).unref();
        return false;
      }
      this.#ends.shift();
      this.#sequence++;
      this.#waitingSince ??= performance.now();
      this.#delivery.wake();
    }
    return true;
  }

  #recover(): void {
    const left = unfinished(this.#spool.segments.slice(0, -1));
    for (const [call, { line, noted }] of left) this.#close(call, line, lostEnd(noted));
    if (left.size > 0) this.#options.log.warn({ calls: left.size }, "calls of an earlier start are lost");
  }
}

const unavailable = (cause: unknown): Fault =>
  new Fault(FaultReason.UNAVAILABLE, "Usage cannot be recorded at the moment", {
    origin: FaultOrigin.INFERENCE,
    retryAfterMs: 1_000,
    cause,
  });
