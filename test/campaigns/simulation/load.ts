/** The load of a simulation, and its outcomes in each second. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { type SimulatedReplica, newCaller, newRequest } from "./fleet.ts";
import type { Random } from "../../support/random.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface LoadOptions {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly replicas: readonly SimulatedReplica[];
  readonly keys: number;
  /** Requests per second of all replicas together. */
  readonly rate: number;
}

/** Counts of the requests that arrive in one second. */
export interface SecondCounts {
  requests: number;
  /** Number of requests answered with an error. */
  failed: number;
  /** Number of calls to providers. */
  calls: number;
}

/**
 * Requests that arrive at random times. Every other one belongs to a session with an id, one for each key, and comes to the replica that the gateways
 * choose for the session. The others begin new conversations at any of their key's replicas.
 */
export class Load {
  readonly seconds: SecondCounts[] = [];
  /** Number of first calls of requests while `countsFirstCalls` is true, by replica and by index of the provider. */
  readonly firstCalls: readonly number[][];
  countsFirstCalls = false;
  readonly #options: LoadOptions;
  readonly #callers: readonly Caller[];
  readonly #startMs: number;
  #isOver = false;
  #asked = 0;

  constructor(options: LoadOptions) {
    this.#options = options;
    this.#callers = Array.from({ length: options.keys }, (_, key) => newCaller(key));
    this.firstCalls = options.replicas.map(() => [0, 0, 0]);
    this.#startMs = options.time.now;
    this.#arrive();
  }

  end(): void {
    this.#isOver = true;
  }

  /** Sums up the counts of the seconds from `from` on, without `to`. */
  sum(from: number, to: number): SecondCounts {
    const sum = { requests: 0, failed: 0, calls: 0 };
    for (const { requests, failed, calls } of this.seconds.slice(from, to)) {
      sum.requests += requests;
      sum.failed += failed;
      sum.calls += calls;
    }
    return sum;
  }

  #arrive(): void {
    const { time, random, rate } = this.#options;
    time.after(random.exponential(1_000 / rate), () => {
      if (this.#isOver) return;
      this.#ask();
      this.#arrive();
    });
  }

  #ask(): void {
    const { time, random, replicas, keys } = this.#options;
    const second = Math.floor((time.now - this.#startMs) / 1_000);
    const counts = (this.seconds[second] ??= { requests: 0, failed: 0, calls: 0 });
    counts.requests++;
    const key = random.below(keys);
    const isNamed = random.chance(0.5);
    // Each key uses only two replicas, to bound the memory of the simulation: a replica remembers the candidates of each of its keys.
    const place = (key + (isNamed ? 0 : random.below(2))) % replicas.length;
    const request = newRequest(isNamed ? `session-${key}` : undefined, `question ${this.#asked++}`);
    const firstCalls = this.countsFirstCalls ? this.firstCalls[place] : undefined;
    replicas[place]!.ask(request, this.#callers[key]!, (answered, calls) => {
      if (!answered) counts.failed++;
      counts.calls += calls.length;
      const first = calls[0];
      if (firstCalls && first !== undefined) firstCalls[Number(first.slice(-1))]!++;
    });
  }
}
