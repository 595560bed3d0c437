/**
 * Sends policy changes to every watching process in the order of their generations, and knows when all of them enforce
 * a change.
 *
 * A change arrives twice: at once from this process, when it commits the write, and later from the policy log in the
 * database, together with the writes of other admin-svc processes. The first arrival counts. Heartbeats are sent after
 * readings of the log instead of at fixed times, so an admin-svc without its database stops confirming a policy that it
 * cannot know.
 */
import type { Logger } from "@sluice/proto/lib/log/log.js";
import { Counter, type Registry, gauge } from "@sluice/proto/lib/metrics/metrics.js";
import type { PolicyLogEntries } from "../store/postgres/policy-listener.ts";
import type { PolicyChange } from "../store/policy.ts";
import { Watcher, unnamedProcess } from "./watcher.ts";

/**
 * Time in milliseconds for which a gateway or inference process uses its last policy without news
 * (proto/lib/policy/access.ts).
 */
const cutOffMs = 300_000;
/** Maximum wait in milliseconds for acknowledgements before a write is answered anyway. */
const acknowledgeLimitMs = 1_000;

export interface PolicyFeedOptions {
  /** Policy generation at the latest reading of the database. */
  readonly generation: bigint;
  /** Requests a reading of the policy log. */
  readonly read: () => void;
  readonly log: Logger;
  readonly registry: Registry;
}

/** Names of processes that may still use an earlier policy. */
export interface UnconfirmedProcesses {
  /** Connected processes that have not acknowledged the change within the limit. */
  readonly processes: readonly string[];
  /**
   * Processes that were connected to this admin-svc within the last 300 s and lost by a crash or network failure. They
   * may be connected to another admin-svc by now.
   */
  readonly cut_off: readonly string[];
}

export class PolicyFeed {
  readonly #options: PolicyFeedOptions;
  readonly #unacknowledged: Counter;
  readonly #watchers = new Set<Watcher>();
  readonly #waiting = new Set<() => void>();
  /**
   * Processes lost without a clean end, which may still use an old policy, with the time of the loss by
   * performance.now().
   */
  readonly #cutOff = new Map<string, number>();
  /** Committed changes waiting for the change of the preceding generation. */
  readonly #early = new Map<bigint, readonly string[] | null>();
  #generation: bigint;
  #readAt = performance.now();
  #closed = false;

  constructor(options: PolicyFeedOptions) {
    this.#options = options;
    this.#generation = options.generation;
    const { registry } = options;
    this.#unacknowledged = new Counter({
      name: "sluice_policy_unacknowledged_total",
      help: "Watchers that had not acknowledged a generation when the write that made it was answered.",
      registers: [registry],
    });
    gauge(registry, "sluice_policy_generation", "Highest policy generation announced to watchers.", () =>
      Number(this.#generation),
    );
    gauge(registry, "sluice_policy_watchers", "Processes that watch the policy here.", () => this.#watchers.size);
    gauge(
      registry,
      "sluice_policy_log_silence_seconds",
      "Seconds since the policy log was last read; above 3 this process is cut off from its database.",
      () => (performance.now() - this.#readAt) / 1000,
    );
  }

  /** Latest generation sent to every watcher. */
  get generation(): bigint {
    return this.#generation;
  }

  join(): Watcher {
    const watcher: Watcher = new Watcher(this.#generation, () => {
      this.#cutOff.delete(watcher.process);
      this.#progressed();
    });
    if (this.#closed) watcher.close();
    this.#watchers.add(watcher);
    return watcher;
  }

  leave(watcher: Watcher): void {
    if (watcher.silent) this.#options.log.warn({ process: watcher.process }, "policy watcher fell silent");
    this.#watchers.delete(watcher);
    const { process, closedCleanly: parted } = watcher;
    if (process !== unnamedProcess && !parted && !this.#closed) this.#cutOff.set(process, performance.now());
    this.#progressed();
  }

  /** Settles when every watcher enforces the change, or at the limit. Call it after the change is committed. */
  async enforced({ generation, keyHashes }: PolicyChange): Promise<UnconfirmedProcesses> {
    if (keyHashes === null || keyHashes.length > 0) this.#receive(generation, keyHashes);
    if (generation > this.#generation) this.#options.read();
    const late = await this.#acknowledged(generation);
    for (const { process, applied } of late) {
      this.#unacknowledged.inc();
      this.#options.log.warn({ process, applied, generation }, "policy change not acknowledged in time");
    }
    return { processes: late.map(({ process }) => process), cut_off: this.#unseen() };
  }

  #unseen(): string[] {
    const since = performance.now() - cutOffMs;
    for (const [process, at] of this.#cutOff) if (at < since) this.#cutOff.delete(process);
    return [...this.#cutOff.keys()];
  }

  /** Handles a reading of the policy log. */
  caughtUp({ since, current, changes }: PolicyLogEntries): void {
    this.#readAt = performance.now();
    for (const { generation, keyHashes } of changes) this.#receive(generation, keyHashes);
    // A gap in the log means that rows were removed, that one reading cannot take all rows, or that the database was
    // restored from a backup.
    if (current > this.#generation || current < since) this.#restart(current);
    this.#notifyWatchers([]);
  }

  /** Ends every watch, so no watch delays the shutdown. */
  close(): void {
    this.#closed = true;
    for (const watcher of this.#watchers) watcher.close();
  }

  #receive(generation: bigint, keyHashes: readonly string[] | null): void {
    if (generation > this.#generation) this.#early.set(generation, keyHashes);
    for (;;) {
      const next = this.#early.get(this.#generation + 1n);
      if (next === undefined) return;
      this.#generation += 1n;
      this.#early.delete(this.#generation);
      this.#notifyWatchers(next);
    }
  }

  #restart(generation: bigint): void {
    this.#generation = generation;
    this.#early.clear();
    this.#notifyWatchers(null);
  }

  #notifyWatchers(keyHashes: readonly string[] | null): void {
    for (const watcher of this.#watchers) watcher.queueChange(this.#generation, keyHashes);
  }

  #progressed(): void {
    for (const check of this.#waiting) check();
  }

  /**
   * Resolves to the watchers that have not acknowledged the generation at the limit. A watcher that connects later
   * starts with an empty cache and need not acknowledge.
   */
  #acknowledged(generation: bigint): Promise<Watcher[]> {
    const watchers = [...this.#watchers];
    const late = () => watchers.filter((watcher) => this.#watchers.has(watcher) && watcher.applied < generation);
    return new Promise((resolve) => {
      const settle = () => {
        clearTimeout(timer);
        this.#waiting.delete(check);
        resolve(late());
      };
      const check = () => {
        if (late().length === 0) settle();
      };
      const timer = setTimeout(settle, acknowledgeLimitMs);
      this.#waiting.add(check);
      check();
    });
  }
}
