/** Open-loop load: a fixed number of requests a second whatever the answers, like many independent clients. */
import { once } from "node:events";
import { machineClockMs } from "../../../support/machine.ts";
import type { Script } from "../script.ts";
import { Connection, type PreparedRequest, prepare } from "./connection.ts";
import type { LoadTarget } from "./target.ts";

const tickMs = 5;
const atOnce = 50;

export interface OfferedOptions {
  readonly target: LoadTarget;
  readonly script: Script;
  readonly perSecond: number;
  /** Connections opened before the load starts, and so the maximum of waiting clients. A client without a free connection counts as turned away. */
  readonly connections: number;
  readonly forMs: number;
  /** Warm-up that is not counted, in milliseconds. */
  readonly settleMs: number;
}

export interface OfferedLoadResult {
  readonly sent: number;
  /** Milliseconds to the end of each complete answer. */
  readonly servedMs: readonly number[];
  /** Milliseconds to each answer 503. */
  readonly shedMs: readonly number[];
  /** Milliseconds to the first delta of each stream. */
  readonly firstMs: readonly number[];
  /** Number of requests without a free connection. */
  readonly away: number;
  /** Number of other failures, by message. */
  readonly problems: ReadonlyMap<string, number>;
}

class Offering {
  sent = 0;
  servedMs: number[] = [];
  shedMs: number[] = [];
  firstMs: number[] = [];
  away = 0;
  problems = new Map<string, number>();
  readonly #options: OfferedOptions;
  readonly #request: PreparedRequest;
  readonly #free: Connection[] = [];
  readonly #open = new Set<Connection>();
  #closed = false;

  constructor(options: OfferedOptions) {
    this.#options = options;
    this.#request = prepare(options.target, options.script);
  }

  /**
   * Connects in small groups. With many at once, the kernel's accept queue would be full and delay some by a second, which says nothing about the
   * target.
   */
  async connect(): Promise<void> {
    while (this.#free.length < this.#options.connections) {
      const group = Array.from({ length: atOnce }, () => this.#connect());
      await Promise.all(group.map(({ socket }) => once(socket, "connect")));
      this.#free.push(...group);
    }
  }

  send(): void {
    const connection = this.#free.pop();
    if (connection) void this.#exchange(connection);
    else this.away++;
  }

  forget(): void {
    this.sent = this.away = 0;
    this.servedMs = [];
    this.shedMs = [];
    this.firstMs = [];
    this.problems = new Map();
  }

  /** Ends the load and all running answers. */
  close(): void {
    this.#closed = true;
    for (const connection of this.#open) connection.close();
  }

  #connect(): Connection {
    const connection = new Connection(this.#options.target);
    this.#open.add(connection);
    connection.socket.once("close", () => this.#open.delete(connection));
    return connection;
  }

  async #exchange(connection: Connection): Promise<void> {
    const sentAt = machineClockMs();
    this.sent++;
    try {
      await connection.exchange(this.#request, { first: (ms) => this.firstMs.push(ms) });
      this.servedMs.push(machineClockMs() - sentAt);
    } catch (error) {
      const { message } = error as Error;
      if (message.startsWith("status 503")) this.shedMs.push(machineClockMs() - sentAt);
      else this.problems.set(message.slice(0, 80), (this.problems.get(message.slice(0, 80)) ?? 0) + 1);
    }
    if (!this.#closed) this.#free.push(connection.socket.destroyed ? this.#connect() : connection);
  }
}

export async function offerLoad(options: OfferedOptions): Promise<OfferedLoadResult> {
  const offering = new Offering(options);
  await offering.connect();
  const beginMs = performance.now();
  let due = 0;
  let settled = false;
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const passedMs = performance.now() - beginMs;
      if (!settled && passedMs >= options.settleMs) {
        settled = true;
        offering.forget();
      }
      for (; due < (passedMs * options.perSecond) / 1_000; due++) offering.send();
      if (passedMs < options.forMs + options.settleMs) return;
      clearInterval(timer);
      resolve();
    }, tickMs);
  });
  const { sent, servedMs, shedMs, firstMs, away, problems } = offering;
  const result = {
    sent,
    servedMs: [...servedMs],
    shedMs: [...shedMs],
    firstMs: [...firstMs],
    away,
    problems: new Map(problems),
  };
  offering.close();
  return result;
}
