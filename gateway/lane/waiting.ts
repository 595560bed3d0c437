/** Turns of a lane that inference-svc has not said to have begun. A limited number is handed over; the rest wait here, and keys are served in rotation. */
import type { Open } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { calmWaiting, maxHanded } from "@sluice/proto/runtime/load/pressure.js";

/**
 * Maximum size of requests that are handed to a process before it has reserved memory for them. A larger request is handed over alone. Requests
 * that wait here have their memory reserved.
 */
const maxHandedBytes = 32 * 1024 * 1024;

interface WaitingTurn {
  readonly id: number;
  readonly open: Open;
  /** Approximate size of the request. */
  readonly bytes: number;
}

/** Numbers of turns by key hash. */
export class TurnsByKey {
  readonly #counts = new Map<string, number>();

  /** Number of keys that have turns. */
  get keys(): number {
    return this.#counts.size;
  }

  of(keyHash: string): number {
    return this.#counts.get(keyHash) ?? 0;
  }

  [Symbol.iterator](): Iterator<[keyHash: string, count: number]> {
    return this.#counts.entries();
  }

  add(keyHash: string, change: number): void {
    const count = this.of(keyHash) + change;
    if (count > 0) this.#counts.set(keyHash, count);
    else this.#counts.delete(keyHash);
  }
}

export class WaitingTurns {
  /** Waiting turns by key hash, then by turn id; the key that is due comes first. */
  readonly #held = new Map<string, Map<number, WaitingTurn>>();
  /** Turns of all lanes of the gateway, held or handed over. */
  readonly #waiting: TurnsByKey;
  /** Turns of this lane that are handed over. */
  #handedOf = new TurnsByKey();
  #handed = 0;
  #handedBytes = 0;
  size = 0;

  constructor(waiting: TurnsByKey) {
    this.#waiting = waiting;
  }

  /**
   * Whether one more turn of a key would wait for others of that key: more turns wait than the process may have begun without saying so, and the
   * key has its share of them.
   */
  isFullFor(keyHash: string): boolean {
    if (this.#handed <= calmWaiting) return false;
    return this.#held.has(keyHash) || this.#handedOf.of(keyHash) >= Math.max(1, maxHanded / this.#handedOf.keys);
  }

  /** True when the turn is handed over at once; otherwise it is held until `take` gives it back. */
  add(id: number, open: Open, bytes: number): boolean {
    const { keyHash } = open;
    this.#count(keyHash, 1);
    if (this.#held.size === 0 && this.#handed < maxHanded && this.#fits(bytes)) {
      this.#hand(keyHash, bytes);
      return true;
    }
    const ofKey = this.#held.get(keyHash);
    if (ofKey) ofKey.set(id, { id, open, bytes });
    else this.#held.set(keyHash, new Map([[id, { id, open, bytes }]]));
    return false;
  }

  /**
   * Takes the next turn to hand over; undefined while the maximum is handed over. A key with no turn handed over may exceed the maximum once: a busy
   * inference process may take seconds to begin the turns of other keys, each of which waits there behind the work of its own key.
   */
  take(): WaitingTurn | undefined {
    if (this.#handed >= 2 * maxHanded) return undefined;
    for (const [keyHash, ofKey] of this.#held) {
      if (this.#handed >= maxHanded && this.#handedOf.of(keyHash) > 0) continue;
      for (const next of ofKey.values()) {
        if (!this.#fits(next.bytes)) return undefined;
        ofKey.delete(next.id);
        this.#held.delete(keyHash);
        if (ofKey.size > 0) this.#held.set(keyHash, ofKey);
        this.#hand(keyHash, next.bytes);
        return next;
      }
    }
    return undefined;
  }

  /** Called when a turn that was handed over has been begun or given up. */
  begun(keyHash: string, bytes: number): void {
    this.#handed--;
    this.#handedBytes -= bytes;
    this.#handedOf.add(keyHash, -1);
    this.#count(keyHash, -1);
  }

  /** Gives up a held turn. False when it was handed over already. */
  drop(id: number, keyHash: string): boolean {
    const ofKey = this.#held.get(keyHash);
    if (!ofKey?.delete(id)) return false;
    if (ofKey.size === 0) this.#held.delete(keyHash);
    this.#count(keyHash, -1);
    return true;
  }

  clear(): void {
    for (const [keyHash, { size }] of this.#held) this.#waiting.add(keyHash, -size);
    this.#held.clear();
    for (const [keyHash, count] of this.#handedOf) this.#waiting.add(keyHash, -count);
    this.#handedOf = new TurnsByKey();
    this.#handed = 0;
    this.#handedBytes = 0;
    this.size = 0;
  }

  #fits(bytes: number): boolean {
    return this.#handed === 0 || this.#handedBytes + bytes <= maxHandedBytes;
  }

  #hand(keyHash: string, bytes: number): void {
    this.#handed++;
    this.#handedBytes += bytes;
    this.#handedOf.add(keyHash, 1);
  }

  #count(keyHash: string, change: 1 | -1): void {
    this.size += change;
    this.#waiting.add(keyHash, change);
  }
}
