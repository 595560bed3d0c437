/**
 * Captures prompts and answers of keys that opt in, and sends them to admin-svc for encryption. Until then they are in memory only. Content is
 * dropped and counted if there is no room or delivery fails; no turn waits for it.
 */
import type { Client } from "@grpc/grpc-js";
import { LedgerService, type TurnContent } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import { Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { EdgeSettings } from "@sluice/proto/config/config-file.js";
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { Counter, type Registry, gauge } from "@sluice/proto/lib/metrics/metrics.js";
import { call, serviceMetadata } from "@sluice/proto/lib/rpc/dial.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import { type CapturedIdentity, type CapturedRequest, CapturedTurn, type CaptureSink } from "./captured-turn.ts";

/** Maximum memory for captured content in this process, in bytes: of running turns, and of ended ones that wait for admin-svc. */
const maxHeldBytes = 64 * 1024 * 1024;
/** Bytes at which no further content is added to a call. The content of one turn may have 2 MiB, and a message at most 4 MiB. */
const maxBatchBytes = 1024 * 1024;
/** Maximum number of contents in a call of admin-svc. */
const maxBatch = 100;
/** Milliseconds in which contents are collected for one call. */
const lingerMs = 100;
const retryMs = 1_000;
const timeoutMs = 5_000;

export interface CapturesDeps {
  readonly admin: Client;
  readonly token: ServiceToken;
  readonly log: Pick<Logger, "warn">;
  readonly registry: Registry;
  /** The capture settings in force, from the last valid configuration file. */
  readonly settings: () => EdgeSettings["capture"];
}

/** Reasons of failures that may pass, after which a batch is sent again. */
const passing: ReadonlySet<FaultReason> = new Set([FaultReason.UNAVAILABLE, FaultReason.DEADLINE_EXCEEDED]);

export class Captures implements CaptureSink {
  readonly #parts: CapturesDeps;
  readonly #dropped: Counter<"reason">;
  readonly #stored: Counter;
  #waiting: TurnContent[] = [];
  #heldBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> = Promise.resolve();
  #failing = false;

  constructor(parts: CapturesDeps) {
    this.#parts = parts;
    const registers = [parts.registry];
    this.#stored = new Counter({
      name: "sluice_captured_contents_total",
      help: "Prompts and answers that admin-svc has taken.",
      registers,
    });
    this.#dropped = new Counter({
      name: "sluice_captured_contents_dropped_total",
      help: "Prompts and answers that were not captured: no memory, refused by admin-svc, or not delivered before the process ended.",
      labelNames: ["reason"],
      registers,
    });
    gauge(parts.registry, "sluice_captured_contents_held_bytes", "Memory of captured content.", () => this.#heldBytes);
  }

  /**
   * Begins to capture a turn, if its key opts in, its content may be kept, and the configuration file asks for it.  @param generationId undefined if
   * the id arrives with the answer, with which the turn is captured then
   */
  begin(
    { caller, requestId, startedAt }: Omit<CapturedIdentity, "generationId" | "user">,
    { request, generationId }: { readonly request: CapturedRequest; readonly generationId?: string },
    body: Buffer,
  ): CapturedTurn | undefined {
    if (generationId === undefined) return undefined;
    const settings = this.#parts.settings();
    if (!settings) return undefined;
    const { user } = request;
    return new CapturedTurn({ caller, requestId, generationId, startedAt, user }, body, settings.max_bytes, this);
  }

  hold(bytes: number): boolean {
    if (this.#heldBytes + bytes > maxHeldBytes) return false;
    this.#heldBytes += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#heldBytes -= bytes;
  }

  giveUp(): void {
    this.#drop("memory", 1);
  }

  #drop(reason: "memory" | "refused" | "undelivered", count: number): void {
    this.#dropped.labels({ reason }).inc(count);
  }

  push(content: TurnContent): void {
    this.#waiting.push(content);
    this.#sendAfter(lingerMs);
  }

  /** Sends the remaining contents, without a further try after a failure. */
  async stop(): Promise<void> {
    await this.#sending;
    clearTimeout(this.#timer);
    for (let left = Number.POSITIVE_INFINITY; this.#waiting.length > 0 && this.#waiting.length < left; ) {
      left = this.#waiting.length;
      await this.#send();
    }
    clearTimeout(this.#timer);
    this.#drop("undelivered", this.#waiting.length);
  }

  #sendAfter(ms: number): void {
    this.#timer ??= setTimeout(() => {
      this.#sending = this.#send();
    }, ms).unref();
  }

  async #send(): Promise<void> {
    const contents = this.#nextBatch();
    const { admin, token } = this.#parts;
    const request = { $typeName: "sluice.admin.v1.RecordContentsRequest" as const, contents };
    try {
      await call(admin, LedgerService.method.recordContents, request, serviceMetadata(token), timeoutMs);
      this.#remove(contents);
      this.#stored.inc(contents.length);
      this.#failing = false;
    } catch (error) {
      this.#failed(contents, error);
    }
    this.#timer = undefined;
    if (this.#waiting.length > 0) this.#sendAfter(this.#failing ? retryMs : 0);
  }

  #nextBatch(): TurnContent[] {
    let bytes = 0;
    const end = this.#waiting.findIndex((content, index) => {
      bytes += sizeOf(content);
      return index > 0 && (bytes > maxBatchBytes || index >= maxBatch);
    });
    return this.#waiting.slice(0, end === -1 ? undefined : end);
  }

  /**
   * Keeps a batch for another try if admin-svc could not be reached. After any other failure the batch is dropped: the failure would repeat, and hold
   * up the contents behind it.
   */
  #failed(contents: readonly TurnContent[], err: unknown): void {
    const isRefused = err instanceof Fault && !passing.has(err.reason);
    if (!this.#failing) this.#parts.log.warn({ err }, "captured content is not stored");
    this.#failing = !isRefused;
    if (!isRefused) return;
    this.#remove(contents);
    this.#drop("refused", contents.length);
  }

  #remove(contents: readonly TurnContent[]): void {
    this.#waiting = this.#waiting.slice(contents.length);
    for (const content of contents) this.release(sizeOf(content));
  }
}

const sizeOf = ({ content }: TurnContent): number => (content ? content.request.length + content.answer.length : 0);
