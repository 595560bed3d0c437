/** A process watching the policy: the changes still to be sent to it, and the generation that it enforces. */
import { create } from "@bufbuild/protobuf";
import {
  type WatchPolicyResponse,
  WatchPolicyResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { EndpointChange } from "@sluice/proto/lib/policy/watch.js";
import { supportedFieldsOf } from "@sluice/proto/lib/rpc/supported-fields.js";
import { administrationServices } from "./administration.ts";

const knows = supportedFieldsOf(...administrationServices.flatMap(({ methods }) => methods.map(({ input }) => input)));

/** Maximum number of keys in one message; a larger change invalidates all cached keys. */
const maxKeys = 10_000;
/** Maximum number of endpoint news queued for a slow reader; further news are dropped. */
const maxNews = 100;
/**
 * Silence in milliseconds after which a process counts as hanging or its connection as dead: a live process answers
 * each heartbeat at once.
 */
const silenceLimitMs = 10_000;

/** Name of a process before its hello message. */
export const unnamedProcess = "unnamed";

export class Watcher {
  /** Name of the process, from its hello message. */
  process = unnamedProcess;
  /** Whether the hello message requested endpoint news. */
  receivesEndpointNews = false;
  /** Whether the process ended its watch itself, as it does at shutdown. */
  closedCleanly = false;
  readonly #progress: () => void;
  readonly #unsent = new Set<string>();
  readonly #news: EndpointChange[] = [];
  #all = true;
  #generation: bigint;
  #pending = true;
  #greeted = false;
  #applied = 0n;
  /** Time by performance.now() of the first unacknowledged message. */
  #unansweredSince: number | undefined;
  #closed = false;
  #wake = () => {};

  /** The first message to a process invalidates its whole cache. @param progress called at every acknowledgement */
  constructor(generation: bigint, progress: () => void) {
    this.#generation = generation;
    this.#progress = progress;
  }

  get applied(): bigint {
    return this.#applied;
  }

  /** Whether the process has been silent for so long that no change waits for it. */
  get silent(): boolean {
    return this.#unansweredSince !== undefined && performance.now() - this.#unansweredSince > silenceLimitMs;
  }

  /**
   * Merges a change with unsent changes, so a slow reader needs no more memory. An empty list is a heartbeat; null
   * means every key.
   */
  queueChange(generation: bigint, keyHashes: readonly string[] | null): void {
    this.#generation = generation;
    this.#pending = true;
    for (const keyHash of keyHashes ?? []) this.#unsent.add(keyHash);
    if (keyHashes === null || this.#unsent.size > maxKeys) this.#all = true;
    if (this.#all) this.#unsent.clear();
    this.#wake();
  }

  /** Queues news of another process, if this process requested news. */
  sendNews(news: readonly EndpointChange[]): void {
    if (!this.receivesEndpointNews) return;
    this.#news.push(...news.slice(0, maxNews - this.#news.length));
    this.#wake();
  }

  acknowledge(process: string, generation: bigint): void {
    if (process !== "") this.process = process.slice(0, 200);
    this.#applied = generation;
    this.#unansweredSince = undefined;
    this.#progress();
  }

  close(): void {
    this.#closed = true;
    this.#wake();
  }

  /** Yields messages to the process until the watcher is closed or silent. */
  async *messages(): AsyncGenerator<WatchPolicyResponse> {
    while (!this.#closed && !this.silent) {
      // News are sent in a separate message, which does not confirm the policy: the policy may be unknown while the
      // database is unavailable.
      if (this.#news.length > 0) yield create(WatchPolicyResponseSchema, { endpoints: this.#news.splice(0) });
      else if (this.#pending) {
        this.#unansweredSince ??= performance.now();
        yield this.#take();
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    }
  }

  #take(): WatchPolicyResponse {
    const message = create(WatchPolicyResponseSchema, {
      generation: this.#generation,
      keyHashes: [...this.#unsent],
      all: this.#all,
      ...(!this.#greeted && { knows }),
    });
    this.#greeted = true;
    this.#unsent.clear();
    this.#all = false;
    this.#pending = false;
    return message;
  }
}
