/**
 * The ledger of this process. Every call to a provider is recorded before it is made, and its end before the client
 * receives it, and so is the end of every turn. Records of ends are delivered to admin-svc from the spool files. If the
 * process is killed, its open calls stay in the spool, and its next start records each of them as lost.
 */
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import { randomUUID } from "node:crypto";
import type { Client } from "@grpc/grpc-js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { HindranceFinding, Hindrances } from "@sluice/proto/lib/process/hindrances.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { type Registry, gauge } from "@sluice/proto/lib/metrics/metrics.js";
import type { Span } from "@sluice/proto/lib/tracing/span.js";
import type { TurnFacts } from "@sluice/proto/lib/turns/turn-facts.js";
import type { TurnRequest } from "../../turn/request.ts";
import type { Usage } from "../../turn/usage.ts";
import type { Scope } from "../../turn/scope.ts";
import type { KeepDelivered } from "./delivered-files.ts";
import { Delivery, refusedBytes } from "./delivery.ts";
import { EarlierStarts } from "./earlier-starts.ts";
import { SpoolReader } from "./reader.ts";
import { type Group, type UnwrittenCall, ledgerUnavailable } from "./group.ts";
import { callName, chargeLine, endLine, startLine } from "./line.ts";
import { type CallCharge, type CallEnd, type CallStart, toLostCallEnd } from "./record.ts";
import { findUnfinishedCalls } from "./recovery.ts";
import { endHolds } from "./settlements.ts";
import { Spool } from "./spool.ts";
import { turnLine } from "./turn-line.ts";
import { RecordWriter } from "./writer.ts";

/** Maximum bytes of the spool, about a million records. Beyond it no call is made, because it could not be recorded. */
const limitBytes = 1024 * 1024 * 1024;

export interface LedgerOptions {
  /** Folder that only this process uses; records an earlier start left in it are delivered first. */
  readonly directory: string;
  /** How long delivered records are kept; when absent, they are removed. */
  readonly keep?: KeepDelivered | undefined;
  /** Maximum milliseconds for which records are added to a file; an hour by default. */
  readonly segmentMs?: number;
  /** Name of the process. */
  readonly instance: string;
  /** Client of admin-svc. */
  readonly client: Client;
  readonly token: ServiceToken;
  readonly log: Logger;
  readonly registry: Registry;
  /** Receives whether calls can be recorded. */
  readonly hindrances?: Pick<Hindrances, "watch" | "found">;
}

/** Records calls to providers. */
export interface CallLedger {
  /**
   * Records the start of a call. @param onStarted called once, after this function has returned
   * @throws Fault UNAVAILABLE when the call cannot be recorded, so it must not be made
   */
  open(opened: CallStart, scope: Scope, onStarted: OnStarted): LedgerEntry;
}

/**
 * Called when the start of a call is on disk: only then may the call be made. With a failure, a Fault UNAVAILABLE, the
 * call must not be made, and its entry has ended.
 */
export type OnStarted = (failure: Fault | undefined) => void;

/** A recorded call. */
export interface LedgerEntry {
  /** Span of the call; undefined when tracing is off. */
  readonly span: Span | undefined;
  /** Records the end of the call; only the first end counts. The record is on disk before the client receives anything more. */
  close(closed: CallEnd): void;
  /** Records what the call costs if this process is killed before its end. */
  note(noted: CallCharge): void;
}

/** Finds the kind of task of a request; undefined if routers learn nothing from the request. */
export type FindTask = (request: TurnRequest, scope: Scope) => string | undefined;

export interface CallRecording {
  readonly ledger: CallLedger;
  readonly callee: Pick<CallStart, "model" | "provider" | "upstreamModel">;
  /** Usage of the request alone, charged if this process is killed before more is known. */
  readonly sent: (request: TurnRequest) => Usage;
  readonly findTask: FindTask | undefined;
}

export class Ledger implements CallLedger {
  readonly #options: LedgerOptions;
  /** Id of this start of the process. */
  readonly bootId = randomUUID();
  readonly #spool: Spool;
  readonly #writer: RecordWriter;
  readonly #delivery: Delivery;
  /** Number of the last recorded end of a call. */
  #sequence = 0;
  /** Number of the last recorded turn. */
  #turnSequence = 0;
  /** Number of delivered records among those that this start of the process wrote. */
  #delivered = 0;
  /** performance.now() of the last delivery, or of the first record after everything was delivered; undefined while no record waits. */
  #waitingSince: number | undefined;
  #open = 0;
  /** Whether a budget has held an amount for a call since this start of the process. */
  #isHeld = false;

  /** Opens the spool. @throws Error when the folder cannot be written to */
  constructor(options: LedgerOptions) {
    const { directory, client, token, log, registry } = options;
    this.#options = options;
    this.#spool = new Spool({
      directory,
      bootId: this.bootId,
      startedAtMs: Date.now(),
      keep: options.keep,
      segmentMs: options.segmentMs,
      onAged: () => this.#delivery.wake(false),
      onKeepFailure: (error) => log.warn({ err: error }, "delivered usage records cannot be kept"),
      onSyncFailure: (error) => log.error({ err: error }, "usage records are not on the disk yet"),
      onWriteFailure: (error) => options.hindrances?.found("spool", unwritable(error)),
    });
    options.hindrances?.watch("spool", () => this.#findHindrance());
    this.#writer = new RecordWriter(this.#spool, log);
    const earlier = new EarlierStarts(options, this.#spool.segments.slice(0, -1));
    const reader = new SpoolReader(this.#spool, (segment, offset) => {
      earlier.damaged(segment);
      log.error({ file: segment.path, offset }, "a file of usage records is damaged; the rest of it cannot be read");
    });
    const onDelivered = (count: number) => this.#count(count);
    const onReadEarlier = () => earlier.read();
    this.#delivery = new Delivery({ reader, client, token, log, directory, onDelivered, onReadEarlier });
    this.#recover();
    gauge(
      registry,
      "sluice_ledger_spool_bytes",
      "Bytes of usage records on the disk of this process.",
      () => this.#spool.size,
    );
    gauge(
      registry,
      "sluice_ledger_delivered_bytes",
      "Bytes of delivered usage records that this process keeps for a replay.",
      () => this.#spool.deliveredSize,
    );
    gauge(
      registry,
      "sluice_ledger_refused_bytes",
      "Bytes of usage records in refused.jsonl, which admin-svc has refused.",
      () => refusedBytes(directory),
    );
    gauge(
      registry,
      "sluice_ledger_undelivered_records",
      "Usage records that this process has written and not delivered yet.",
      () => this.#written - this.#delivered,
    );
    gauge(
      registry,
      "sluice_ledger_delivery_delay_seconds",
      "Seconds since usage records were last delivered, or since they began to wait; 0 when none waits.",
      () => (this.#waitingSince === undefined ? 0 : (performance.now() - this.#waitingSince) / 1_000),
    );
    gauge(registry, "sluice_ledger_open_attempts", "Running calls to providers.", () => this.#open);
  }

  /** Records the start of a call. @throws Fault UNAVAILABLE when the call cannot be recorded, so it must not be made */
  open(opened: CallStart, _: Scope, onStarted: OnStarted): LedgerEntry {
    if (this.#spool.size >= limitBytes) throw ledgerUnavailable(new Error("the spool is full"));
    const call = new OpenCall(this.#writer, opened, onStarted, this.#end);
    this.#open++;
    this.#isHeld ||= opened.isHeld;
    return call;
  }

  /** Whether a new record would be written at once. */
  get hasRoom(): boolean {
    return this.#spool.size < limitBytes && !this.#writer.isWaiting;
  }

  async #findHindrance(): Promise<HindranceFinding | undefined> {
    if (this.#spool.size >= limitBytes) return full;
    const failure = await this.#spool.try();
    return failure && unwritable(failure);
  }

  /** Records a turn at its end. The record is on disk before the client receives anything more. */
  recordTurn(turn: TurnFacts): void {
    const sequence = ++this.#turnSequence;
    this.#writer.end(turnLine(turn, { bootId: this.bootId, sequence, instance: this.#options.instance }));
    this.#waitingSince ??= performance.now();
    this.#delivery.wake(false);
  }

  /** Writes everything recorded so far to disk. Called before anything is sent to a client. */
  flush(): void {
    this.#writer.flush();
  }

  /** Delivers the remaining records, for at most this time in milliseconds. */
  async close(limitMs: number): Promise<void> {
    const isWritten = this.#writer.close();
    await this.#delivery.close(limitMs);
    const isDelivered = isWritten && this.#open === 0 && this.#delivered === this.#written;
    // If admin-svc does not answer, a held amount whose release was lost becomes a charge, which an operator can see
    // and release.
    if (isDelivered && this.#isHeld) await endHolds(this.#options, this.bootId).catch(() => {});
    await this.#spool.close(isDelivered);
  }

  get #written(): number {
    return this.#sequence + this.#turnSequence;
  }

  /** Counts delivered records; those written before this start of the process do not count. */
  #count(count: number): void {
    this.#delivered += count;
    this.#waitingSince = this.#delivered === this.#written ? undefined : performance.now();
  }

  readonly #end: OnEnded = (call, isHeld, closed) => {
    this.#open--;
    if (closed) this.#record(call, isHeld, closed);
  };

  #record(call: string, isHeld: boolean, closed: CallEnd): void {
    const counted = { bootId: this.bootId, sequence: ++this.#sequence, instance: this.#options.instance };
    this.#writer.end(endLine(call, closed, counted));
    this.#waitingSince ??= performance.now();
    this.#delivery.wake(isHeld);
  }

  #recover(): void {
    const left = findUnfinishedCalls(this.#spool.segments.slice(0, -1));
    for (const [call, noted] of left) this.#record(call, true, toLostCallEnd(noted));
    this.#writer.flush();
    if (left.size > 0) this.#options.log.warn({ calls: left.size }, "calls of an earlier start are recorded as lost");
  }
}

const full: HindranceFinding = { reason: "1 GiB of usage records waits for admin-svc", isPartial: false };

const unwritable = (error: NodeJS.ErrnoException): HindranceFinding => ({
  reason: `usage records cannot be written (${error.code ?? "see the log"})`,
  isPartial: false,
});

/** Called when an entry has ended. @param closed undefined when the call could not begin */
type OnEnded = (call: string, isHeld: boolean, closed: CallEnd | undefined) => void;

class OpenCall implements LedgerEntry, UnwrittenCall {
  readonly span = undefined;
  readonly #writer: RecordWriter;
  readonly #name: string;
  readonly #isHeld: boolean;
  readonly #group: Group;
  readonly #onStarted: OnStarted;
  readonly #onEnded: OnEnded;
  #isOver = false;

  /** Records the start of a call. @throws Fault UNAVAILABLE when the call cannot be recorded */
  constructor(writer: RecordWriter, opened: CallStart, onStarted: OnStarted, onEnded: OnEnded) {
    this.#writer = writer;
    this.#name = callName(opened);
    this.#isHeld = opened.isHeld;
    this.#onStarted = onStarted;
    this.#onEnded = onEnded;
    this.#group = writer.start(startLine(this.#name, opened), this);
  }

  written(failure: Fault | undefined): void {
    if (failure) this.#end(undefined);
    this.#onStarted(failure);
  }

  note(noted: CallCharge): void {
    if (!this.#isOver) this.#writer.charge(chargeLine(this.#name, noted), this.#group);
  }

  close(closed: CallEnd): void {
    // The start must be on disk before the end is written.
    if (!this.#group.isSettled) this.#writer.flush();
    this.#end(this.#group.failure ? undefined : closed);
  }

  #end(closed: CallEnd | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onEnded(this.#name, this.#isHeld, closed);
  }
}
