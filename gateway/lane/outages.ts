/** Logs once per inference process when it stops accepting turns, and once when it accepts them again. */
import type { Logger } from "@sluice/proto/lib/log/log.js";

/** Delay of the warning in milliseconds. A process that is being replaced is gone or ready within this time. */
const warnAfterMs = 10_000;

interface Outage {
  readonly since: number;
  isLogged: boolean;
}

export class Outages {
  readonly #log: Logger;
  readonly #outages = new Map<string, Outage>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Notes the state of a process. @param host address of the process @param failure error at the end of its last session */
  look(host: string, isReady: boolean, failure: Error | undefined): void {
    const outage = this.#outages.get(host);
    if (isReady) {
      this.#outages.delete(host);
      if (outage?.isLogged) this.#log.info({ host }, "the inference process takes turns");
      return;
    }
    if (!outage) return void this.#outages.set(host, { since: performance.now(), isLogged: false });
    if (outage.isLogged || performance.now() - outage.since < warnAfterMs) return;
    outage.isLogged = true;
    this.#log.warn({ host, err: failure }, "an inference process takes no turns");
  }

  forget(host: string): void {
    this.#outages.delete(host);
  }
}
