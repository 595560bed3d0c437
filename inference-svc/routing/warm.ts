/**
 * Where sessions were served last: there is their cache. A session that an outage moved stays where it went, although its own endpoint is back.
 *
 * Of this process alone: requests of a session come to the same process anyway.
 */
import type { Seed } from "./rendezvous.ts";

/** About as long as providers keep a cache; each answer begins it anew. */
const keptMs = 600_000;
/** Some megabytes. */
const maxSessions = 20_000;

interface Stay {
  readonly endpoint: Seed;
  /** Milliseconds. */
  readonly until: number;
}

export class WarmEndpoints {
  /** In the order of their last answer. */
  readonly #stays = new Map<string, Stay>();

  /**
   * The endpoint by what it draws with, which stays when the configuration is read anew.
   * @param session with a model
   * @param now milliseconds
   */
  find(session: Seed, now: number): Seed | undefined {
    const stay = this.#stays.get(keyOf(session));
    return stay && stay.until > now ? stay.endpoint : undefined;
  }

  note(session: Seed, endpoint: Seed, now: number): void {
    const key = keyOf(session);
    this.#stays.delete(key);
    this.#stays.set(key, { endpoint, until: now + keptMs });
    const oldest = this.#stays.keys().next();
    if (this.#stays.size > maxSessions && oldest.done !== true) this.#stays.delete(oldest.value);
  }
}

const keyOf = ({ high, low }: Seed): string => `${high} ${low}`;
