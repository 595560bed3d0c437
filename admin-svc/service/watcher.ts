/** A process watching the policy: its unsent changes, and the generation it enforces. */
import { create } from "@bufbuild/protobuf";
import {
  type WatchPolicyResponse,
  WatchPolicyResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { EndpointChange } from "@sluice/proto/lib/policy/watch.js";
import { supportedFieldsOf } from "@sluice/proto/lib/rpc/supported-fields.js";
import { administrationServices } from "./administration.ts";

const knows = supportedFieldsOf(...administrationServices.flatMap(({ methods }) => methods.map(({ input }) => input)));

/** Maximum number of keys in one message; a larger change invalidates everything instead. */
const maxKeys = 10_000;
/** Maximum number of endpoint news waiting for a slow reader; later news are dropped. */
const maxNews = 100;
/** A live process answers each heartbeat at once. A silence of this length means a hanging process or a dead connection. */
const silenceLimitMs = 10_000;

/** Name of a watcher before its hello. */
export const unnamedProcess = "unnamed";

export class Watcher {
  /** Name of the process from its hello. */
  process = unnamedProcess;
  /** Whether the process requested news of endpoints in its hello. */
  receivesEndpointNews = false;
  /** True when the process ended its watch itself, as it does at its shutdown. */
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

  /** The first message invalidates everything. `progress` is called at every acknowledgement. */
  constructor(generation: bigint, progress: () => void) {
    this.#generation = generation;
    this.#progress = progress;
  }

  get applied(): bigint {
    return this.#applied;
  }

  /** True after a silence too long for any change to wait for this process. */
  get silent(): boolean {
    return this.#unansweredSince !== undefined && performance.now() - this.#unansweredSince > silenceLimitMs;
  }

  /** Merges the change with unsent changes, so a slow reader costs no memory. No keys mean a heartbeat, null every key. */
  queueChange(generation: bigint, keyHashes: readonly string[] | null): void {
    this.#generation = generation;
    this.#pending = true;
    for (const keyHash of keyHashes ?? []) this.#unsent.add(keyHash);
    if (keyHashes === null || this.#unsent.size > maxKeys) this.#all = true;
    if (this.#all) this.#unsent.clear();
    this.#wake();
  }

  /** Sends news of another process, if this process requested them. */
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

  /** Ends when the watcher is closed or silent. */
  async *messages(): AsyncGenerator<WatchPolicyResponse> {
    while (!this.#closed && !this.silent) {
      // A separate message: it must not confirm the policy, which may be unknown while the database is away.
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
