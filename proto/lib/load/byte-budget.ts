/**
 * Memory budget for running requests: bodies and messages, queued batches, and buffers of slow readers.
 * Bytes are reserved before they are read, so a burst of requests is refused instead of ending the process.
 *
 * Reservations belong to keys. A key without reservations may take all free memory; a key with reservations may hold
 * half of the sum of its own and the free memory. A single key thus leaves half of the budget to others, two keys leave
 * a quarter, and a small request of another key always finds memory.
 */
import { Fault, type FaultOrigin, FaultReason } from "../faults/fault.ts";
import { type HeldBytes, heldBytes } from "./held-bytes.ts";
import { budgetBytes } from "./memory.ts";
import { Counter, type Registry, gauge } from "../metrics/metrics.ts";
import { drawRetryDelayMs } from "./pressure.ts";

/**
 * Default wait in milliseconds for memory. Forwarding a body of 32 MiB takes less, so the requests of a short burst are
 * served one after another.
 */
const defaultMaxWaitMs = 2_000;

export interface ByteBudgetOptions {
  readonly origin: FaultOrigin;
  readonly registry: Registry;
  /**
   * Size of the budget in bytes; by default half of the memory of the process, as for a process with a single service.
   */
  readonly bytes?: number;
  /** Maximum wait in milliseconds for memory that others have reserved. */
  readonly maxWaitMs?: number;
  /** Memory of running answers, which uses the same budget; by default the process-wide `heldBytes`. */
  readonly held?: HeldBytes;
}

interface Waiter {
  readonly reservation: Reservation;
  readonly bytes: number;
  readonly granted: () => void;
  readonly refused: (fault: Fault) => void;
}

export class ByteBudget {
  readonly bytes: number;
  readonly #maxWaitMs: number;
  readonly #origin: FaultOrigin;
  readonly #refusals: Counter;
  readonly #heldByKey = new Map<string, number>();
  /** Waiting reservations in the order in which they began to wait. */
  readonly #waiters = new Set<Waiter>();
  readonly #held: HeldBytes;
  #free: number;

  constructor({
    origin,
    registry,
    bytes = budgetBytes(1),
    maxWaitMs = defaultMaxWaitMs,
    held = heldBytes,
  }: ByteBudgetOptions) {
    this.bytes = bytes;
    this.#held = held;
    this.#free = bytes;
    this.#maxWaitMs = maxWaitMs;
    this.#origin = origin;
    gauge(registry, "sluice_byte_budget_bytes", "Memory that may be reserved for requests under way.", () => bytes);
    gauge(
      registry,
      "sluice_byte_budget_reserved_bytes",
      "Memory that is reserved for requests under way.",
      () => this.reserved,
    );
    gauge(registry, "sluice_byte_budget_waiting", "Requests that wait for memory.", () => this.#waiters.size);
    this.#refusals = new Counter({
      name: "sluice_byte_budget_refused_total",
      help: "Requests that were refused because no memory could be reserved for them.",
      registers: [registry],
    });
  }

  get reserved(): number {
    return this.bytes - this.#free;
  }

  /** Creates an empty reservation for a key. */
  open(key: string): Reservation {
    return new Reservation(this, key);
  }

  /** For reservations only. @returns whether the bytes were reserved */
  take(reservation: Reservation, bytes: number): boolean {
    if (bytes === 0) return true;
    const { key } = reservation;
    const held = this.#heldByKey.get(key) ?? 0;
    // Running answers use this budget as well: it bears their memory in proportion to its size.
    const free = this.#free - (this.#held.bytes * this.bytes) / this.#held.budget;
    if (bytes > free || (held > 0 && held + bytes > (free + held) / 2)) return false;
    this.#free -= bytes;
    this.#heldByKey.set(key, held + bytes);
    return true;
  }

  /** For reservations only: returns bytes. */
  giveBack({ key }: Reservation, bytes: number): void {
    if (bytes === 0) return;
    this.#free += bytes;
    const left = (this.#heldByKey.get(key) ?? 0) - bytes;
    if (left > 0) this.#heldByKey.set(key, left);
    else this.#heldByKey.delete(key);
    if (this.#waiters.size > 0) this.#serveWaiters();
  }

  /** For reservations only. Settles when the bytes are reserved. @throws Fault UNAVAILABLE */
  wait(reservation: Reservation, bytes: number): Promise<void> {
    if (bytes > this.bytes) return Promise.reject(this.refusal());
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        this.#waiters.delete(waiter);
        if (this.#waiters.size === 0) this.#held.onFreed.delete(this.#serveWaiters);
      };
      const waiter: Waiter = {
        reservation,
        bytes,
        granted: () => (leave(), resolve()),
        refused: (fault) => (leave(), reject(fault)),
      };
      const timer = setTimeout(() => waiter.refused(this.refusal()), this.#maxWaitMs);
      this.#waiters.add(waiter);
      this.#held.onFreed.add(this.#serveWaiters);
    });
  }

  /** For reservations only: called when a reservation is released while it waits. */
  stopWaiting(reservation: Reservation): void {
    for (const waiter of this.#waiters) if (waiter.reservation === reservation) waiter.refused(this.refusal());
  }

  /** Creates and counts the fault for a request that got no memory. */
  refusal(): Fault {
    this.#refusals.inc();
    return new Fault(FaultReason.UNAVAILABLE, "", { origin: this.#origin, retryAfterMs: drawRetryDelayMs() });
  }

  /**
   * Smaller requests overtake larger ones that do not fit yet. A larger request is refused when its wait is over, and
   * blocks no other.
   */
  readonly #serveWaiters = (): void => {
    for (const waiter of this.#waiters) if (waiter.reservation.tryGrow(waiter.bytes)) waiter.granted();
  };
}

/** Memory reserved for a request; it is released exactly once, however the request ends. */
export class Reservation {
  readonly #budget: ByteBudget;
  readonly key: string;
  #bytes = 0;
  #isOver = false;

  constructor(budget: ByteBudget, key: string) {
    this.#budget = budget;
    this.key = key;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Reserves more bytes at once. @returns false when there is no room, and nothing was reserved */
  tryGrow(bytes: number): boolean {
    if (this.#isOver || !this.#budget.take(this, bytes)) return false;
    this.#bytes += bytes;
    return true;
  }

  /**
   * Reserves more bytes, waiting briefly when there is no room; undefined when no wait is needed.
   * @throws Fault UNAVAILABLE when there is no room in time, or the reservation is released meanwhile
   */
  grow(bytes: number): Promise<void> | undefined {
    if (this.tryGrow(bytes)) return undefined;
    return this.#isOver ? Promise.reject(this.#budget.refusal()) : this.#budget.wait(this, bytes);
  }

  /** Releases a part of the bytes. */
  shrink(bytes: number): void {
    const given = Math.min(bytes, this.#bytes);
    this.#bytes -= given;
    this.#budget.giveBack(this, given);
  }

  /** Releases all bytes and ends the reservation. Only the first call has an effect. */
  release(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#budget.stopWaiting(this);
    this.shrink(this.#bytes);
  }
}
