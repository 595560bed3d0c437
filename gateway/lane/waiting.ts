/** Turns of a lane that inference-svc has not begun. A few are handed over at a time; the rest wait here, and the keys take turns. */
import type { Open } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { mostHanded } from "@sluice/proto/runtime/pressure.js";

/**
 * Requests handed to a process before it has reserved memory for them. A larger one goes alone; the others wait here, where memory is reserved
 * for them.
 */
const maxHandedBytes = 32 * 1024 * 1024;

interface WaitingTurn {
  readonly id: number;
  readonly open: Open;
  /** About the size of its request. */
  readonly bytes: number;
}

export class WaitingTurns {
  /** Waiting turns by key hash, then by turn id; the key that is served next is first. */
  readonly #held = new Map<string, Map<number, WaitingTurn>>();
  /** Turns of a key that are held here or handed over. */
  readonly #counts = new Map<string, number>();
  #handed = 0;
  #handedBytes = 0;
  size = 0;

  /** Keys with a turn that waits. */
  get keys(): number {
    return this.#counts.size;
  }

  countOf(keyHash: string): number {
    return this.#counts.get(keyHash) ?? 0;
  }

  add(turn: WaitingTurn): void {
    const { keyHash } = turn.open;
    const ofKey = this.#held.get(keyHash);
    if (ofKey) ofKey.set(turn.id, turn);
    else this.#held.set(keyHash, new Map([[turn.id, turn]]));
    this.#count(keyHash, 1);
  }

  /** Takes the turn that is to be handed over next; undefined while enough are. */
  take(): WaitingTurn | undefined {
    if (this.#handed >= mostHanded) return undefined;
    for (const [keyHash, ofKey] of this.#held) {
      for (const next of ofKey.values()) {
        if (this.#handed > 0 && this.#handedBytes + next.bytes > maxHandedBytes) return undefined;
        ofKey.delete(next.id);
        this.#held.delete(keyHash);
        if (ofKey.size > 0) this.#held.set(keyHash, ofKey);
        this.#handed++;
        this.#handedBytes += next.bytes;
        return next;
      }
    }
    return undefined;
  }

  /** A turn that was handed over has been begun, or given up. */
  begun(keyHash: string, bytes: number): void {
    this.#handed--;
    this.#handedBytes -= bytes;
    this.#count(keyHash, -1);
  }

  /** Gives up a turn that is held. False: it was handed over. */
  drop(id: number, keyHash: string): boolean {
    const ofKey = this.#held.get(keyHash);
    if (!ofKey?.delete(id)) return false;
    if (ofKey.size === 0) this.#held.delete(keyHash);
    this.#count(keyHash, -1);
    return true;
  }

  clear(): void {
    this.#held.clear();
    this.#counts.clear();
    this.#handed = 0;
    this.#handedBytes = 0;
    this.size = 0;
  }

  #count(keyHash: string, change: 1 | -1): void {
    this.size += change;
    const count = this.countOf(keyHash) + change;
    if (count > 0) this.#counts.set(keyHash, count);
    else this.#counts.delete(keyHash);
  }
}
