/** A constant load: a number of connections with one request after another each, and the outcomes. */
import { setTimeout as delay } from "node:timers/promises";
import type { Script } from "../script.ts";
import { Connection, type PreparedRequest, prepare } from "./connection.ts";
import type { RequestForm, LoadTarget } from "./target.ts";

/** Milliseconds to wait after a failure, so a target that refuses everything is not called in a tight loop. */
const pauseMs = 50;

export interface ClientLoadOptions {
  readonly target: LoadTarget;
  readonly script: Script;
  readonly connections: number;
  /**
   * Milliseconds over which connections are opened evenly. Streams started together would send their deltas together, which favours batching. So
   * would streams started at multiples of their gap, and the figure of a window would depend on whether it contains their common moment.
   */
  readonly spreadMs: number;
  readonly form?: RequestForm;
}

export class ClientLoad {
  /** Number of answers, or of deltas for streams. */
  units = 0;
  /** Milliseconds to the first delta of each stream. */
  firstMs: number[] = [];
  /** Number of failures, by message. */
  readonly problems = new Map<string, number>();
  readonly #options: ClientLoadOptions;
  readonly #request: PreparedRequest;
  readonly #open = new Set<Connection>();
  readonly #running: Promise<void>[] = [];
  #stopped = false;

  constructor(options: ClientLoadOptions) {
    this.#options = options;
    this.#request = prepare(options.target, options.script, options.form);
  }

  start(): void {
    const { connections, spreadMs } = this.#options;
    for (let index = 0; index < connections; index++) {
      this.#running.push(this.#run((spreadMs * index) / connections));
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const connection of this.#open) connection.close();
    await Promise.all(this.#running);
  }

  async #run(startMs: number): Promise<void> {
    await delay(startMs);
    while (!this.#stopped) {
      const connection = new Connection(this.#options.target);
      this.#open.add(connection);
      try {
        await this.#repeat(connection);
      } catch (error) {
        if (this.#stopped) return;
        const { message } = error as Error;
        this.problems.set(message, (this.problems.get(message) ?? 0) + 1);
        await delay(pauseMs);
      } finally {
        this.#open.delete(connection);
        connection.close();
      }
    }
  }

  async #repeat(connection: Connection): Promise<void> {
    const whole = this.#request.script.kind === "json";
    while (!this.#stopped) {
      await connection.exchange(this.#request, {
        deltas: (count) => (this.units += count),
        first: (ms) => this.firstMs.push(ms),
      });
      if (whole) this.units++;
    }
  }
}
