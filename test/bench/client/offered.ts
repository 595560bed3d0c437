/** Load that does not wait for answers: so many requests a second, whatever becomes of them, as from many independent clients. */
import { once } from "node:events";
import { sharedNow } from "../measure/machine.ts";
import type { Script } from "../script.ts";
import { Connection, type PreparedRequest, prepare } from "./connection.ts";
import type { Target } from "./target.ts";

const tickMs = 5;
const atOnce = 50;

export interface OfferedOptions {
  readonly target: Target;
  readonly script: Script;
  readonly perSecond: number;
  /** Opened before: as many clients wait at most; who would come then is counted as turned away. */
  readonly connections: number;
  readonly forMs: number;
  /** Of these first milliseconds nothing is counted. */
  readonly settleMs: number;
}

export interface Offered {
  readonly sent: number;
  readonly served: number;
  /** Milliseconds until each 503. */
  readonly shedMs: readonly number[];
  /** Found no free connection. */
  readonly away: number;
  /** What else went wrong, and how often. */
  readonly problems: ReadonlyMap<string, number>;
}

class Offering {
  sent = 0;
  served = 0;
  shedMs: number[] = [];
  away = 0;
  problems = new Map<string, number>();
  readonly #options: OfferedOptions;
  readonly #request: PreparedRequest;
  readonly #free: Connection[] = [];

  constructor(options: OfferedOptions) {
    this.#options = options;
    this.#request = prepare(options.target, options.script);
  }

  /** In small groups: a full queue of connections at the kernel would cost some of them a second, and be the machine's doing. */
  async connect(): Promise<void> {
    while (this.#free.length < this.#options.connections) {
      const group = Array.from({ length: atOnce }, () => new Connection(this.#options.target));
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
    this.sent = this.served = this.away = 0;
    this.shedMs = [];
    this.problems = new Map();
  }

  close(): void {
    for (const connection of this.#free) connection.close();
  }

  async #exchange(connection: Connection): Promise<void> {
    const sentAt = sharedNow();
    this.sent++;
    try {
      await connection.exchange(this.#request);
      this.served++;
    } catch (error) {
      const { message } = error as Error;
      if (message.startsWith("status 503")) this.shedMs.push(sharedNow() - sentAt);
      else this.problems.set(message.slice(0, 80), (this.problems.get(message.slice(0, 80)) ?? 0) + 1);
    }
    this.#free.push(connection.socket.destroyed ? new Connection(this.#options.target) : connection);
  }
}

export async function offer(options: OfferedOptions): Promise<Offered> {
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
  const { sent, served, shedMs, away, problems } = offering;
  const result = { sent, served, shedMs: [...shedMs], away, problems: new Map(problems) };
  offering.close();
  return result;
}
