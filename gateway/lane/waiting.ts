/** Turns that inference-svc has not acknowledged yet. A limited number is sent; the rest wait here, and keys are served in rotation. */
import type { Open } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { calmWaitingTurns, maxSentTurns } from "@sluice/proto/lib/load/pressure.js";

/**
 * Maximum bytes of requests sent to a process before it has reserved memory for them. A larger request is sent only by itself. The memory of requests
 * waiting here is already reserved.
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
  /** Held turns by key hash, then by turn id; the next key to serve comes first. */
  readonly #held = new Map<string, Map<number, WaitingTurn>>();
  /** Turns that the gateway holds back or has sent, over all its connections to inference-svc. */
  readonly #waiting: TurnsByKey;
  /** Sent turns of this lane. */
  #handedOf = new TurnsByKey();
  #handed = 0;
  #handedBytes = 0;
  size = 0;

  constructor(waiting: TurnsByKey) {
    this.#waiting = waiting;
  }

  /**
   * Whether another turn of a key would wait for the key's other turns: more turns wait than the process may have begun without an acknowledgement, and the
   * key's share of them is used up.
   */
  isFullFor(keyHash: string): boolean {
    if (this.#handed <= calmWaitingTurns) return false;
    return this.#held.has(keyHash) || this.#handedOf.of(keyHash) >= Math.max(1, maxSentTurns / this.#handedOf.keys);
  }

  /** True when the turn may be sent at once; otherwise it is held until `take` returns it. */
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
   * Takes the next turn to send; undefined while the maximum is sent. A key without a sent turn may exceed the maximum once: a busy inference process may
   * take seconds to begin the turns of other keys, and each of them waits behind the work of its own key.
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

  /** Called when a sent turn has begun or was given up. */
  begun(keyHash: string, bytes: number): void {
    this.#handed--;
    this.#handedBytes -= bytes;
    this.#handedOf.add(keyHash, -1);
    this.#count(keyHash, -1);
  }

  /** Gives up a held turn. False when it was already sent. */
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
