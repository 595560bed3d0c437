/**
 * Sticky sessions: remembers which endpoint or model served a session last. A session moved stays at its new
 * endpoint, even when the former one is available again.
 *
 * Each process has its own memory, because the requests of a session come to the same process anyway.
 */
import type { Seed } from "./rendezvous.ts";

/** Maximum number of remembered sessions, which take a few megabytes. */
const maxSessions = 20_000;

interface Stay<Place> {
  readonly place: Place;
  /** Time at which the entry expires, in milliseconds. */
  readonly until: number;
}

export class StickySessions<Place> {
  readonly #keptMs: number;
  /** Entries in the order of their last use. */
  readonly #stays = new Map<string, Stay<Place>>();

  /** @param keptMs milliseconds for which an entry is kept after its last use */
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
