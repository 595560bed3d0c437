/**
 * Sticky sessions: remembers where sessions were served last. A moved session stays at its new endpoint, even when the former endpoint is
 * available again.
 *
 * Each process has its own memory, because the requests of a session come to the same process anyway.
 */
import type { Seed } from "./rendezvous.ts";

/** Bounds the memory to a few megabytes. */
const maxSessions = 20_000;

interface Stay<Place> {
  readonly place: Place;
  /** Milliseconds. */
  readonly until: number;
}

export class StickySessions<Place> {
  readonly #keptMs: number;
  /** Entries in the order of their last use. */
  readonly #stays = new Map<string, Stay<Place>>();

  /** @param keptMs counted from the last use of a session */
  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  /** @param now time in milliseconds */
  find(session: Seed, now: number): Place | undefined {
    const stay = this.#stays.get(keyOf(session));
    return stay && stay.until > now ? stay.place : undefined;
  }

  note(session: Seed, place: Place, now: number): void {
    const key = keyOf(session);
    this.#stays.delete(key);
    this.#stays.set(key, { place, until: now + this.#keptMs });
    const oldest = this.#stays.keys().next();
    if (this.#stays.size > maxSessions && oldest.done !== true) this.#stays.delete(oldest.value);
  }
}

const keyOf = ({ high, low }: Seed): string => `${high} ${low}`;
