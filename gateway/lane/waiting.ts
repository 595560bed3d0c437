/** Turns that inference-svc has not acknowledged yet. Only a limited number is sent; the others wait here, and the keys take turns. */
import type { Open } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { calmWaitingTurns, maxSentTurns } from "@sluice/proto/lib/load/pressure.js";

/**
 * Maximum bytes of requests sent to a process before it has reserved memory for them. A larger request is sent only when no other is. Requests that
 * wait here have their memory reserved already.
 */
const maxHandedBytes = 32 * 1024 * 1024;

interface WaitingTurn {
  readonly id: number;
  readonly open: Open;
  /** Approximate size of the request in bytes. */
  readonly bytes: number;
}

/** Number of turns of each key, by key hash. */
export class TurnsByKey {
  readonly #counts = new Map<string, number>();

  /** Number of keys with turns. */
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
  /** Turns that are not sent yet, by key hash and then by turn id. The key to serve next comes first. */
  readonly #held = new Map<string, Map<number, WaitingTurn>>();
  /** Number of unacknowledged turns by key, held or sent, over all lanes of the gateway. */
  readonly #waiting: TurnsByKey;
  /** Number of sent turns by key on this lane. */
  #handedOf = new TurnsByKey();
  #handed = 0;
  #handedBytes = 0;
  size = 0;

  constructor(waiting: TurnsByKey) {
    this.#waiting = waiting;
  }

  /**
   * Whether another turn of this key would have to wait for the key's other turns: so many turns are sent that not all can have begun, and the key's
   * share of them is used up.
   */
  isFullFor(keyHash: string): boolean {
    if (this.#handed <= calmWaitingTurns) return false;
    return this.#held.has(keyHash) || this.#handedOf.of(keyHash) >= Math.max(1, maxSentTurns / this.#handedOf.keys);
  }

  /** Adds a turn. @returns true if the turn may be sent at once; otherwise it is held until `take` returns it */
  add(id: number, open: Open, bytes: number): boolean {
    const { keyHash } = open;
    this.#count(keyHash, 1);
    if (this.#held.size === 0 && this.#handed < maxSentTurns && this.#fits(bytes)) {
      this.#hand(keyHash, bytes);
      return true;
    }
    const ofKey = this.#held.get(keyHash);
    if (ofKey) ofKey.set(id, { id, open, bytes });
    else this.#held.set(keyHash, new Map([[id, { id, open, bytes }]]));
    return false;
  }

  /**
   * Takes the next turn to send; undefined while the maximum number is sent. A key without a sent turn may exceed the maximum with one turn: a busy
   * inference process may take seconds to begin the turns of other keys, which wait for the work of their own keys.
   */
  take(): WaitingTurn | undefined {
    if (this.#handed >= 2 * maxSentTurns) return undefined;
    for (const [keyHash, ofKey] of this.#held) {
      if (this.#handed >= maxSentTurns && this.#handedOf.of(keyHash) > 0) continue;
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

  /** Called when a sent turn has begun or was given up, so that others can be sent. */
  begun(keyHash: string, bytes: number): void {
    this.#handed--;
    this.#handedBytes -= bytes;
    this.#handedOf.add(keyHash, -1);
    this.#count(keyHash, -1);
  }

  /** Gives up a held turn. @returns false if the turn was already sent */
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
