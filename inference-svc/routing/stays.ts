/**
 * Where sessions were served last. A session that something moved stays where it went, although its own place is free again.
 *
 * Of this process alone: requests of a session come to the same process anyway.
 */
import type { Seed } from "./rendezvous.ts";

/** Some megabytes. */
const maxSessions = 20_000;

interface Stay<Place> {
  readonly place: Place;
  /** Milliseconds. */
  readonly until: number;
}

export class Stays<Place> {
  readonly #keptMs: number;
  /** In the order of their last note. */
  readonly #stays = new Map<string, Stay<Place>>();

  /** @param keptMs each note begins it anew */
  constructor(keptMs: number) {
    this.#keptMs = keptMs;
  }

  /** @param now milliseconds */
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
