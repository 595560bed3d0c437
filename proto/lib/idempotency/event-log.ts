/** The events of a generation so far, kept for clients that join late or read slowly. */
import type { TurnEvent } from "../../gen/sluice/inference/v1/turn_pb.ts";

interface LoggedBatch {
  readonly events: readonly TurnEvent[];
  /** Approximate size in bytes. */
  readonly cost: number;
  /** Sum over all earlier batches. */
  readonly costBefore: number;
}

/** The memory shared by the logs of all generations. */
export class EventLogMemory {
  readonly #maxBytes: number;
  usedBytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isFull(): boolean {
    return this.usedBytes > this.#maxBytes;
  }
}

export class EventLog {
  readonly #room: EventLogMemory;
  #batches: LoggedBatch[] = [];
  /** Number of the first batch still kept. */
  #first = 0;
  #total = 0;
  /** Sum over all kept batches. */
  cost = 0;

  constructor(room: EventLogMemory) {
    this.#room = room;
  }

  /** Number of the next batch. */
  get end(): number {
    return this.#first + this.#batches.length;
  }

  /** Whether all batches are still present. */
  get isWhole(): boolean {
    return this.#first === 0;
  }

  add(events: readonly TurnEvent[], cost: number): void {
    this.#batches.push({ events, cost, costBefore: this.#total });
    this.#total += cost;
    this.#grow(cost);
  }

  /** The events of a batch; undefined before it has arrived. */
  at(number: number): readonly TurnEvent[] | undefined {
    return this.#batches[number - this.#first]?.events;
  }

  /** Sum over all batches before a kept batch, or before the next batch. */
  costBefore(number: number): number {
    return this.#batches[number - this.#first]?.costBefore ?? this.#total;
  }

  /** Drops all batches before a number. */
  dropUntil(number: number): void {
    const dropped = this.#batches.splice(0, Math.max(0, number - this.#first));
    this.#first += dropped.length;
    for (const { cost } of dropped) this.#grow(-cost);
  }

  #grow(bytes: number): void {
    this.cost += bytes;
    this.#room.usedBytes += bytes;
  }
}
