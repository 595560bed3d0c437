/**
 * Memory of running answers: bytes from providers, tools and web pages, kept until they are delivered or no longer
 * needed.
 *
 * The length of an answer is known only at its end, so its memory cannot be reserved in advance. Code that buffers
 * bytes of an answer counts them in its account as they grow. When all accounts together exceed the limit, the largest
 * answer of the key with the most bytes fails at once, and the others continue.
 */
import { Fault, FaultOrigin, FaultReason } from "../faults/fault.ts";
import { type Registry, gauge } from "../metrics/metrics.ts";
import { budgetBytes } from "./memory.ts";
import { SlotArray } from "./slot-array.ts";

/**
 * Share of the byte budget that answers may use. Requests can always reserve the rest, so answers never prevent new
 * turns.
 */
const shareOfBudget = 0.5;

/** Memory overhead of a chunk in bytes: a provider may send chunks of a single byte. */
export const chunkOverheadBytes = 96;

export interface HeldBytesOptions {
  /** Memory in bytes for requests and answers together; by default half of the memory of the process. */
  readonly budget?: number;
}

export class HeldBytes {
  readonly #accounts = new SlotArray<Account>();
  /** Callbacks for waiting requests, called when memory becomes free. */
  readonly onFreed = new Set<() => void>();
  /** Memory in bytes for requests and answers together. */
  readonly budget: number;
  /** Maximum bytes of all answers together. */
  readonly limit: number;
  /** Bytes of all accounts together; only accounts change it. */
  bytes = 0;
  /** Number of answers that failed for lack of memory. */
  failed = 0;

  constructor({ budget = budgetBytes(1) }: HeldBytesOptions = {}) {
    this.budget = budget;
    this.limit = Math.floor(shareOfBudget * budget);
  }

  /**
   * Opens an account, which the caller must release.
   * @param key hash of the API key; for a service without a key, its host
   * @param fail ends the answer and its connection at once
   */
  open(key: string, fail: (fault: Fault) => void): Account {
    const account = new Account(this, key, fail);
    account.place = this.#accounts.add(account);
    return account;
  }

  /** For accounts only: removes an account. */
  forget(account: Account): void {
    this.#accounts.delete(account.place);
  }

  /** For accounts only: called after an account has grown, to free memory if the limit is exceeded. */
  makeRoom(grown: Account): void {
    while (this.bytes > this.limit) {
      const largest = grown.bytes > this.limit ? grown : this.#largest();
      if (largest === undefined) return;
      this.failed++;
      largest.fail(tooLarge(this.limit));
    }
  }

  #largest(): Account | undefined {
    const byKey = new Map<string, number>();
    const accounts = this.#accounts.values();
    for (const { key, bytes } of accounts) byKey.set(key, (byKey.get(key) ?? 0) + bytes);
    let largest: Account | undefined;
    for (const account of accounts) {
      if (account.bytes === 0) continue;
      const [held, most] = [byKey.get(account.key) ?? 0, largest ? (byKey.get(largest.key) ?? 0) : -1];
      if (largest === undefined || held > most || (held === most && isLarger(account, largest))) largest = account;
    }
    return largest;
  }

  /** Registers metrics of this process. */
  measure(registry: Registry): void {
    const { limit } = this;
    gauge(registry, "sluice_held_answers_limit_bytes", "Memory that answers under way may hold.", () => limit);
    gauge(registry, "sluice_held_answers_bytes", "Memory that answers under way hold.", () => this.bytes);
    registry.add({
      name: "sluice_held_answers_failed_total",
      help: "Answers that failed because answers under way held too much memory.",
      type: "counter",
      samples: (give) => give("", "", this.failed),
    });
  }
}

/** Whether an answer is larger: the one with more kept bytes is, whatever memory its parser takes. */
const isLarger = (a: Account, b: Account): boolean => a.kept > b.kept || (a.kept === b.kept && a.bytes > b.bytes);

const tooLarge = (limit: number): Fault =>
  new Fault(
    FaultReason.PROVIDER_FAILED,
    `The answer is too large: all answers under way may hold ${limit} bytes of memory, and this one held the most`,
    { origin: FaultOrigin.UPSTREAM, shouldRetry: false },
  );

/** Memory of one answer or tool call, in bytes. */
export class Account {
  readonly #all: HeldBytes;
  readonly key: string;
  readonly #fail: (fault: Fault) => void;
  #failure: Fault | undefined;
  #isOver = false;
  /** Index of the account in the list of open accounts, so it can be removed without a search. */
  place = 0;
  /** Bytes of the answer itself. */
  kept = 0;
  /** Kept bytes plus the memory for parsing them. */
  bytes = 0;

  constructor(all: HeldBytes, key: string, fail: (fault: Fault) => void) {
    this.#all = all;
    this.key = key;
    this.#fail = fail;
  }

  /**
   * Counts additional bytes.
   * @param kept bytes of the answer; negative when they are released
   * @param working bytes for parsing them
   * @throws Fault PROVIDER_FAILED when this answer has failed for lack of memory
   */
  grow(kept: number, working = 0): void {
    if (!this.tryGrow(kept, working)) throw this.#failure as Fault;
  }

  /** `grow` for callers that cannot throw. @returns false when this answer has failed for lack of memory */
  tryGrow(kept: number, working = 0): boolean {
    if (!this.#isOver) {
      this.#change(kept, working);
      if (this.#all.bytes > this.#all.limit) this.#all.makeRoom(this);
    }
    return this.#failure === undefined;
  }

  /** Counts released bytes. */
  shrink(kept: number, working = 0): void {
    if (!this.#isOver) this.#change(-kept, -working);
  }

  #change(kept: number, working: number): void {
    const all = this.#all;
    const bytes = kept + working;
    this.kept += kept;
    this.bytes += bytes;
    all.bytes += bytes;
    if (bytes < 0 && all.onFreed.size > 0) for (const freed of all.onFreed) freed();
  }

  /**
   * Ends the answer with a fault and releases its bytes; called when memory is short and this account holds the most.
   */
  fail(fault: Fault): void {
    this.#failure = fault;
    this.release();
    this.#fail(fault);
  }

  /** Closes the account. Only the first call has an effect. */
  release(): void {
    if (this.#isOver) return;
    this.#change(-this.kept, this.kept - this.bytes);
    this.#isOver = true;
    this.#all.forget(this);
  }
}

/** Accounts of this process. */
export const heldBytes = new HeldBytes();
