/**
 * The open turns of each key. They are ended within a second after the key is revoked, deleted or expires.
 *
 * The policy watch reports changed keys, and each is resolved again as for a new turn. A changed guardrail applies from
 * the next turn on.
 */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import type { Fault } from "@sluice/proto/lib/faults/fault.js";
import { invalidKey } from "@sluice/proto/lib/rpc/caller.js";
import { SlotArray } from "@sluice/proto/lib/load/slot-array.js";
import type { Cancellable } from "../turn/signal.ts";

/** Maximum concurrent lookups: a large policy change must not resolve thousands of keys at once. */
const maxConcurrentLookups = 16;
/** Milliseconds between lookups of a key while admin-svc is unreachable; the key's turns continue meanwhile. */
const refreshAfterMs = 1_000;
/** Maximum delay of a timer in milliseconds. */
const maxTimerMs = 2 ** 31 - 1;

interface OpenKey {
  readonly turns: SlotArray<Cancellable>;
  /** Fires when the key must be resolved again without a change from the policy watch. */
  timer: NodeJS.Timeout | undefined;
}

export class OpenKeys {
  readonly #access: Pick<Access, "resolve" | "onChange">;
  readonly #open = new Map<string, OpenKey>();
  /** Hashes of keys that may have changed and wait for a lookup. */
  readonly #suspects = new Set<string>();
  #questions = 0;

  constructor(access: Pick<Access, "resolve" | "onChange">) {
    this.#access = access;
    access.onChange((keyHashes) => this.#suspect(keyHashes ?? this.#open.keys()));
  }

  /** Adds a turn of a key just resolved. @returns the function to call at the end of the turn */
  enter(caller: Caller, turn: Cancellable): () => void {
    const { keyHash } = caller;
    let key = this.#open.get(keyHash);
    if (!key) {
      key = { turns: new SlotArray(), timer: undefined };
      this.#open.set(keyHash, key);
      this.#watchExpiry(keyHash, key, caller);
    }
    const open = key;
    const place = open.turns.add(turn);
    return () => {
      open.turns.delete(place);
      if (open.turns.size > 0) return;
      clearTimeout(open.timer);
      this.#open.delete(keyHash);
    };
  }

  /** Ends all turns of all keys. */
  endAll(reason: Fault): void {
    for (const { turns } of this.#open.values()) for (const turn of turns.values()) turn.cancel(reason);
  }

  #suspect(keyHashes: Iterable<string>): void {
    for (const keyHash of keyHashes) if (this.#open.has(keyHash)) this.#suspects.add(keyHash);
    while (this.#questions < maxConcurrentLookups && this.#suspects.size > 0) void this.#refresh();
  }

  async #refresh(): Promise<void> {
    this.#questions++;
    for (const keyHash of this.#suspects) {
      this.#suspects.delete(keyHash);
      await this.#judge(keyHash);
    }
    this.#questions--;
  }

  async #judge(keyHash: string): Promise<void> {
    try {
      const { caller, isSuperseded } = await this.#access.resolve(keyHash);
      const key = this.#open.get(keyHash);
      if (!key) return;
      if (!caller) for (const turn of key.turns.values()) turn.cancel(invalidKey());
      else if (isSuperseded) this.#lookAgain(keyHash, key, refreshAfterMs);
      else this.#watchExpiry(keyHash, key, caller);
    } catch {
      this.#lookAgain(keyHash, this.#open.get(keyHash), refreshAfterMs);
    }
  }

  #watchExpiry(keyHash: string, key: OpenKey, { expiresAtMs }: Caller): void {
    clearTimeout(key.timer);
    if (expiresAtMs !== undefined) this.#lookAgain(keyHash, key, Math.max(1, Number(expiresAtMs) - Date.now()));
  }

  #lookAgain(keyHash: string, key: OpenKey | undefined, inMs: number): void {
    if (!key) return;
    clearTimeout(key.timer);
    key.timer = setTimeout(() => this.#suspect([keyHash]), Math.min(inMs, maxTimerMs));
    key.timer.unref();
  }
}
