/** A process that watches the policy: the changes that it has not been sent yet, and the generation that it enforces. */
import { create } from "@bufbuild/protobuf";
import {
  type WatchPolicyResponse,
  WatchPolicyResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { News } from "@sluice/proto/runtime/policy/watch.js";
import { supportedFieldsOf } from "@sluice/proto/runtime/rpc/supported-fields.js";
import { administrationServices } from "./administration.ts";

const knows = supportedFieldsOf(...administrationServices.flatMap(({ methods }) => methods.map(({ input }) => input)));

/** Maximum number of keys that one message names; a larger change invalidates everything instead. */
const maxKeys = 10_000;
/** Most news of endpoints that wait for a slow reader; later ones are dropped. */
const maxNews = 100;
/** A live process answers each heartbeat at once. Silence for this long means that it hangs, or that its connection is gone. */
const silenceLimitMs = 10_000;

/** Name of a watcher before its hello. */
export const unnamedProcess = "unnamed";

export class Watcher {
  /** Name that the process has given in its hello. */
  process = unnamedProcess;
  /** Whether the process has asked for news of endpoints in its hello. */
  hearsEndpoints = false;
  /** True when the process has ended its watch by itself, as it does when it shuts down. */
  closedCleanly = false;
  readonly #progress: () => void;
  readonly #unsent = new Set<string>();
  readonly #news: News[] = [];
  #all = true;
  #told: bigint;
  #pending = true;
  #greeted = false;
  #applied = 0n;
  /** Time by performance.now() of the first message that has not been acknowledged. */
  #unansweredSince: number | undefined;
  #closed = false;
  #wake = () => {};

  /** The first message invalidates everything. `progress` is called at every acknowledgement. */
  constructor(generation: bigint, progress: () => void) {
    this.#told = generation;
    this.#progress = progress;
  }

  get applied(): bigint {
    return this.#applied;
  }

  /** True when the process has been silent for so long that no change should wait for it. */
  get silent(): boolean {
    return this.#unansweredSince !== undefined && performance.now() - this.#unansweredSince > silenceLimitMs;
  }

  /** Merges the change with the unsent ones, so that a slow reader costs no memory. No keys mean a heartbeat, null every key. */
  tell(generation: bigint, keyHashes: readonly string[] | null): void {
    this.#told = generation;
    this.#pending = true;
    for (const keyHash of keyHashes ?? []) this.#unsent.add(keyHash);
    if (keyHashes === null || this.#unsent.size > maxKeys) this.#all = true;
    if (this.#all) this.#unsent.clear();
    this.#wake();
  }

  /** Tells news of another process, if this one has asked for them. */
  tellNews(news: readonly News[]): void {
    if (!this.hearsEndpoints) return;
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
      // A message of its own: it must not vouch for the policy, which may not be known while the database is away.
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
      generation: this.#told,
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
