/**
 * Bulk changes of a workspace wait for one another in this process instead of in the database, where each would hold a
 * connection while it waits for locked keys, until no connection is free.
 */
import { type Bulk, changeAssignments } from "../store/assignments.ts";
import { Batches, type WaitingItem } from "./batches.ts";
import { untilEnforced } from "./enforcement.ts";
import { retryLater } from "./outage.ts";
import type { Deps } from "./deps.ts";

export interface CommittedBulk {
  readonly count: number;
  readonly generation: bigint;
  /** Settles when all processes enforce the change, or at the limit of that wait. */
  readonly enforced: Promise<void>;
}

type BulkDeps = Pick<Deps, "policy" | "writes" | "bulkWrites">;
type WaitingBulk = WaitingItem<Bulk, CommittedBulk | undefined>;

/**
 * Maximum wait for earlier batches in milliseconds. A bulk may then wait as long again for locked keys, and a second
 * for acknowledgements; the gateway allows 10 s in total.
 */
const waitLimitMs = 4_000;

/**
 * Maximum number of keys in a batch. Other calls wait while the process works on a batch: their p99 was 58 to 67 ms
 * with 10,000 keys, and is 36 to 45 ms with 5,000 (two cores, sixty clients).
 */
const maxBatchKeys = 5_000;

export class BulkAssignments {
  readonly #deps: BulkDeps;
  readonly #batches: Batches<Bulk, CommittedBulk | undefined>;

  constructor(deps: BulkDeps) {
    this.#deps = deps;
    this.#batches = new Batches({ take, work: (...batch) => this.#commit(...batch) });
  }

  /**
   * Settles at the commit; with undefined when the workspace has no such guardrail.
   * @throws Fault INTERNAL, retryable, when the bulk has waited too long
   */
  commit(bulk: Bulk, signal: AbortSignal): Promise<CommittedBulk | undefined> {
    return this.#batches.join(bulk.author.workspaceId, bulk, signal);
  }

  async #commit(batch: readonly WaitingBulk[], workspaceId: string): Promise<void> {
    const bulks = batch.map(({ item }) => item);
    const { counts, change } = await changeAssignments(this.#deps.bulkWrites, workspaceId, bulks);
    const first = bulks.find((_, index) => counts[index] !== undefined);
    const enforced = first && change && untilEnforced(this.#deps, first.author, change);
    for (const [index, { resolve }] of batch.entries()) {
      const count = counts[index];
      resolve(count === undefined || !enforced ? undefined : { count, generation: change.generation, enforced });
    }
  }
}

/**
 * Removes the next batch from the waiting bulks. A bulk whose client has disconnected, or that has waited too long, is
 * rejected.
 */
function take(waiting: WaitingBulk[]): WaitingBulk[] {
  const batch: WaitingBulk[] = [];
  let keys = 0;
  for (let [next] = waiting; next && keys + next.item.keyHashes.length <= maxBatchKeys; [next] = waiting) {
    waiting.shift();
    if (next.signal.aborted) next.reject(next.signal.reason);
    else if (performance.now() - next.since > waitLimitMs) {
      next.reject(retryLater(new Error("other bulk changes of the workspace took too long")));
    } else {
      keys += next.item.keyHashes.length;
      batch.push(next);
    }
  }
  return batch;
}
