/**
 * Bulk changes of one workspace wait for one another here and not in the database: there each would hold a connection while it waits for
 * the keys of the one before, and the others would find none free.
 */
import { type Bulk, changeAssignments } from "../store/assignments.ts";
import { Batches, type Waiting } from "./batches.ts";
import { untilEnforced } from "./enforcement.ts";
import { retryLater } from "./outage.ts";
import type { Parts } from "./parts.ts";

export interface Committed {
  readonly count: number;
  readonly generation: bigint;
  /** Settles when it may be answered. */
  readonly enforced: Promise<void>;
}

type BulkParts = Pick<Parts, "policy" | "writes" | "bulkWrites">;
type WaitingBulk = Waiting<Bulk, Committed | undefined>;

/** As long again it may wait for keys that somebody else holds, then a second for the processes: the gateway gives it 10 s. */
const waitLimitMs = 4_000;

/** Keys of a batch: other calls wait while the process reckons with them. With twice as many the slowest in a hundred took 58 to 67 ms and not 36 to 45 (two cores, sixty clients). */
const maxBatchKeys = 5_000;

export class Bulks {
  readonly #parts: BulkParts;
  readonly #batches: Batches<Bulk, Committed | undefined>;

  constructor(parts: BulkParts) {
    this.#parts = parts;
    this.#batches = new Batches({ take, work: (...batch) => this.#commit(...batch) });
  }

  /**
   * Settles at the commit, with undefined when the workspace has no such guardrail.
   * @throws Fault INTERNAL with leave to retry when its turn has not come in time
   */
  commit(bulk: Bulk, signal: AbortSignal): Promise<Committed | undefined> {
    return this.#batches.join(bulk.author.workspaceId, bulk, signal);
  }

  async #commit(batch: readonly WaitingBulk[], workspaceId: string): Promise<void> {
    const bulks = batch.map(({ item }) => item);
    const { counts, change } = await changeAssignments(this.#parts.bulkWrites, workspaceId, bulks);
    const first = bulks.find((_, index) => counts[index] !== undefined);
    const enforced = first && change && untilEnforced(this.#parts, first.author, change);
    for (const [index, { resolve }] of batch.entries()) {
      const count = counts[index];
      resolve(count === undefined || !enforced ? undefined : { count, generation: change.generation, enforced });
    }
  }
}

/** Who has left, or has waited too long, is not made to wait for the keys as well. */
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
