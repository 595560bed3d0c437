/**
 * The turns that each key has open: they end within a second of the key's revocation, its deletion or its expiry.
 *
 * What changes is told by the policy watch, and what it has become is asked like for a new turn. A guardrail holds from the next turn on.
 */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { Access } from "@sluice/proto/runtime/access.js";
import type { Fault } from "@sluice/proto/runtime/fault.js";
import { invalidKey } from "@sluice/proto/runtime/rpc/caller.js";
import type { Cancellable } from "./turn/signal.ts";

/** A flush of everything must not ask for thousands of keys at once. */
const mostQuestions = 16;
/** While admin-svc cannot say what a key may do, its turns go on. */
const askAgainMs = 1_000;
/** Timers take no more. */
const longestMs = 2 ** 31 - 1;

interface OpenKey {
  readonly turns: Set<Cancellable>;
  /** Until the key has to be looked at again without being told. */
  timer: NodeJS.Timeout | undefined;
}

export class OpenKeys {
  readonly #access: Pick<Access, "resolve" | "onChange">;
  readonly #open = new Map<string, OpenKey>();
  /** Keys that may have changed. */
  readonly #suspects = new Set<string>();
  #questions = 0;

  constructor(access: Pick<Access, "resolve" | "onChange">) {
    this.#access = access;
    access.onChange((keyHashes) => this.#suspect(keyHashes ?? this.#open.keys()));
  }

  /** A turn of a key that was resolved just now. @returns what to call at its end */
  enter(caller: Caller, turn: Cancellable): () => void {
    const { keyHash } = caller;
    let key = this.#open.get(keyHash);
    if (!key) {
      key = { turns: new Set(), timer: undefined };
      this.#open.set(keyHash, key);
      this.#watchExpiry(keyHash, key, caller);
    }
    const { turns } = key;
    turns.add(turn);
    return () => {
      turns.delete(turn);
      if (turns.size === 0) this.#forget(keyHash);
    };
  }

  /** Ends the turns of every key. */
  endAll(reason: Fault): void {
    for (const { turns } of this.#open.values()) for (const turn of turns) turn.cancel(reason);
  }

  #forget(keyHash: string): void {
    clearTimeout(this.#open.get(keyHash)?.timer);
    this.#open.delete(keyHash);
  }

  #suspect(keyHashes: Iterable<string>): void {
    for (const keyHash of keyHashes) if (this.#open.has(keyHash)) this.#suspects.add(keyHash);
    while (this.#questions < mostQuestions && this.#suspects.size > 0) void this.#ask();
  }

  async #ask(): Promise<void> {
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
      if (!caller) for (const turn of key.turns) turn.cancel(invalidKey());
      else if (isSuperseded) this.#lookAgain(keyHash, key, askAgainMs);
      else this.#watchExpiry(keyHash, key, caller);
    } catch {
      this.#lookAgain(keyHash, this.#open.get(keyHash), askAgainMs);
    }
  }

  #watchExpiry(keyHash: string, key: OpenKey, { expiresAtMs }: Caller): void {
    clearTimeout(key.timer);
    if (expiresAtMs !== undefined) this.#lookAgain(keyHash, key, Math.max(1, Number(expiresAtMs) - Date.now()));
  }

  #lookAgain(keyHash: string, key: OpenKey | undefined, inMs: number): void {
    if (!key) return;
    clearTimeout(key.timer);
    key.timer = setTimeout(() => this.#suspect([keyHash]), Math.min(inMs, longestMs));
    key.timer.unref();
  }
}
