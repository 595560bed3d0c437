/** One process that watches the policy: what it has not been told yet, and what it says that it enforces. */
import { create } from "@bufbuild/protobuf";
import {
  type WatchPolicyResponse,
  WatchPolicyResponseSchema,
} from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { knowledgeOf } from "@sluice/proto/runtime/rpc/knowledge.js";
import { administrationServices } from "./administration.ts";

const knows = knowledgeOf(...administrationServices.flatMap(({ methods }) => methods.map(({ input }) => input)));

/** More keys than this in one message and everything is forgotten instead. */
const maxKeys = 10_000;
/** A live process answers each heartbeat at once; one that does not hangs, or its connection is gone without a word. */
const silenceLimitMs = 10_000;

/** Who has not said yet what it is called. */
export const unnamed = "unnamed";

export class Watcher {
  /** As it calls itself. */
  process = unnamed;
  /** It has ended its watch itself, as a process does that ends. */
  parted = false;
  readonly #progress: () => void;
  readonly #unsent = new Set<string>();
  #all = true;
  #told: bigint;
  #pending = true;
  #greeted = false;
  #applied = 0n;
  /** performance.now() of the first message that nothing has answered. */
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

  /** True when it has answered nothing for so long that nobody should wait for it. */
  get silent(): boolean {
    return this.#unansweredSince !== undefined && performance.now() - this.#unansweredSince > silenceLimitMs;
  }

  /** Merged with what is still unsent, so that a slow reader costs no memory. No keys: a heartbeat. Null: every key. */
  tell(generation: bigint, keyHashes: readonly string[] | null): void {
    this.#told = generation;
    this.#pending = true;
    for (const keyHash of keyHashes ?? []) this.#unsent.add(keyHash);
    if (keyHashes === null || this.#unsent.size > maxKeys) this.#all = true;
    if (this.#all) this.#unsent.clear();
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
      if (this.#pending) {
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
