/** What a generation has said so far, for those who come later or read slower than others. */
import type { TurnEvent } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";

interface Said {
  readonly events: readonly TurnEvent[];
  /** About the size in bytes. */
  readonly cost: number;
  /** Of all that was said before. */
  readonly costBefore: number;
}

/** What all generations may keep together. */
export class LogRoom {
  readonly #mostBytes: number;
  usedBytes = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  get isFull(): boolean {
    return this.usedBytes > this.#mostBytes;
  }
}

export class EventLog {
  readonly #room: LogRoom;
  #said: Said[] = [];
  /** Number of the first batch that is kept. */
  #first = 0;
  #total = 0;
  /** Of all that is kept. */
  cost = 0;

  constructor(room: LogRoom) {
    this.#room = room;
  }

  /** Number of the batch that will be said next. */
  get end(): number {
    return this.#first + this.#said.length;
  }

  /** Whether nothing was dropped. */
  get isWhole(): boolean {
    return this.#first === 0;
  }

  add(events: readonly TurnEvent[], cost: number): void {
    this.#said.push({ events, cost, costBefore: this.#total });
    this.#total += cost;
    this.#grow(cost);
  }

  /** Undefined when it has not been said yet. */
  at(number: number): readonly TurnEvent[] | undefined {
    return this.#said[number - this.#first]?.events;
  }

  /** Of what was said before a batch that is kept, or that will be said next. */
  costBefore(number: number): number {
    return this.#said[number - this.#first]?.costBefore ?? this.#total;
  }

  /** Forgets what comes before a number. */
  dropUntil(number: number): void {
    const dropped = this.#said.splice(0, Math.max(0, number - this.#first));
    this.#first += dropped.length;
    for (const { cost } of dropped) this.#grow(-cost);
  }

  #grow(bytes: number): void {
    this.cost += bytes;
    this.#room.usedBytes += bytes;
  }
}
