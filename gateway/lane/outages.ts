/** Says of each process, once, that it takes no turns, and that it does again. */
import type { Logger } from "@sluice/proto/runtime/log.js";

/** A process that is replaced is forgotten or back before. */
const patienceMs = 10_000;

interface Outage {
  readonly since: number;
  said: boolean;
}

export class Outages {
  readonly #log: Logger;
  readonly #outages = new Map<string, Outage>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @param failure of its last session, when that had one */
  look(host: string, isReady: boolean, failure: Error | undefined): void {
    const outage = this.#outages.get(host);
    if (isReady) {
      this.#outages.delete(host);
      if (outage?.said) this.#log.info({ host }, "the inference process takes turns");
      return;
    }
    if (!outage) return void this.#outages.set(host, { since: performance.now(), said: false });
    if (outage.said || performance.now() - outage.since < patienceMs) return;
    outage.said = true;
    this.#log.warn({ host, err: failure }, "an inference process takes no turns");
  }

  forget(host: string): void {
    this.#outages.delete(host);
  }
}
