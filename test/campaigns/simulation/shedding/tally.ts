/** Counts the outcomes of requests. */
import type { VirtualTime } from "../virtual-time.ts";
import type { ClientAnswer, ClientRequest } from "./request.ts";

interface KeyCounts {
  asked: number;
  attempts: number;
  refused: number;
  served: number;
}

/** Range of Retry-After in milliseconds that refusals may give. */
const hintsMs = [1_000, 5_000] as const;
/** Milliseconds after which the turns of a lost process have failed. */
const failedMs = 100;

/** Counts of the outcomes in one phase. */
export class PhaseCounts {
  readonly keys: readonly KeyCounts[];
  /** Milliseconds from the arrival of an attempt until its turn began, for the greedy key; those of all others follow. */
  readonly greedyWaits: number[] = [];
  readonly waits: number[] = [];
  failed = 0;
  /** Number of failures that no loss of a process explains. */
  strangeFailures = 0;
  refusedWhileIdle = 0;
  /** Number of refusals with an undocumented hint. */
  strangeHints = 0;
  /** Number of turns that began twice for one attempt. */
  doubled = 0;

  constructor(keys: number) {
    this.keys = Array.from({ length: keys }, () => ({ asked: 0, attempts: 0, refused: 0, served: 0 }));
  }

  get greedy(): KeyCounts {
    return this.keys[0]!;
  }

  sum(of: keyof KeyCounts): number {
    return this.keys.reduce((sum, counts) => sum + counts[of], 0);
  }

  /** The sum of all keys but the greedy one. */
  sumOfOthers(of: keyof KeyCounts): number {
    return this.sum(of) - this.greedy[of];
  }
}

export class RequestTally {
  readonly #time: VirtualTime;
  readonly #keys: number;
  counts: PhaseCounts;
  /** Time at which a process was lost. */
  lostAt = Number.NEGATIVE_INFINITY;

  constructor(time: VirtualTime, keys: number) {
    this.#time = time;
    this.#keys = keys;
    this.counts = new PhaseCounts(keys);
  }

  /** Begins a phase. */
  begin(): PhaseCounts {
    return (this.counts = new PhaseCounts(this.#keys));
  }

  asked({ key }: ClientRequest): void {
    this.counts.keys[key]!.asked++;
  }

  attempted({ key }: ClientRequest): void {
    this.counts.keys[key]!.attempts++;
  }

  refused({ key }: ClientRequest, { retryAfterMs }: ClientAnswer, whileIdle: boolean): void {
    this.counts.keys[key]!.refused++;
    if (whileIdle) this.counts.refusedWhileIdle++;
    if (retryAfterMs < hintsMs[0] || retryAfterMs > hintsMs[1]) this.counts.strangeHints++;
  }

  failed(): void {
    this.counts.failed++;
    if (this.#time.now - this.lostAt > failedMs) this.counts.strangeFailures++;
  }

  begun(request: ClientRequest, now: number): void {
    if (request.begunAttempt === request.attempts) this.counts.doubled++;
    request.begunAttempt = request.attempts;
    const waits = request.key === 0 ? this.counts.greedyWaits : this.counts.waits;
    waits.push(now - request.arrivedAt);
  }

  served({ key }: ClientRequest): void {
    this.counts.keys[key]!.served++;
  }
}
