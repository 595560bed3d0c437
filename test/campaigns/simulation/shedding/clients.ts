/** Clients of an overloaded fleet. */
import type { Random } from "../../../support/random.ts";
import type { VirtualTime } from "../virtual-time.ts";
import type { SimulatedGateway } from "./gateway.ts";
import { type ClientKey, drawKey } from "./keys.ts";
import type { ClientAnswer, ClientRequest, RetryBehaviour } from "./request.ts";
import type { SimulatedServer } from "./server.ts";
import { RequestTally } from "./tally.ts";
import { SimulatedConnection } from "./wire.ts";

/** Ways to retry. Official clients retry twice and wait as long as requested; some clients wait only for a moment, and some never retry. */
const manners: readonly RetryBehaviour[] = [
  { share: 0.7, attempts: 3, obeys: true },
  { share: 0.15, attempts: 10, obeys: false },
  { share: 0.15, attempts: 1, obeys: true },
];
const hastyMs = 200;
const directShare = 0.02;
/** Number of conversations of each key, which have half of its requests. */
const sessionsOfKey = 20;

export interface Demand {
  /** Requests per second. */
  rate: number;
  /** Share of the requests that the greedy key sends. */
  greedyShare: number;
}

export interface FleetClientOptions {
  readonly time: VirtualTime;
  readonly random: Random;
  readonly gateways: readonly SimulatedGateway[];
  readonly servers: readonly SimulatedServer[];
  readonly keys: number;
}

export class FleetClients {
  readonly tally: RequestTally;
  readonly demand: Demand = { rate: 0, greedyShare: 0 };
  /** Requests without a final answer, by id. */
  readonly open = new Map<string, ClientRequest>();
  readonly #options: FleetClientOptions;
  readonly #keys: readonly ClientKey[];
  #asked = 0;

  constructor(options: FleetClientOptions) {
    this.#options = options;
    this.tally = new RequestTally(options.time, options.keys);
    this.#keys = Array.from({ length: options.keys }, () => drawKey(options.random));
  }

  /** Sends requests at random times until the rate is 0. */
  arrive(): void {
    if (this.demand.rate === 0) return;
    this.#options.time.after(this.#options.random.exponential(1_000 / this.demand.rate), () => {
      this.#ask();
      this.arrive();
    });
  }

  begun(id: string, now: number): void {
    const request = this.open.get(id);
    if (request) this.tally.begun(request, now);
  }

  #ask(): void {
    const { random, keys } = this.#options;
    const isGreedy = this.demand.greedyShare > 0 && random.chance(this.demand.greedyShare);
    const request: ClientRequest = {
      id: `${this.#asked++}`,
      key: isGreedy ? 0 : 1 + random.below(keys - 1),
      manner: this.#drawManner(),
      session: random.chance(0.5) ? `session ${random.below(sessionsOfKey)}` : undefined,
      isDirect: random.chance(directShare),
      attempts: 0,
      arrivedAt: 0,
      begunAttempt: 0,
    };
    this.open.set(request.id, request);
    this.tally.asked(request);
    this.#send(request);
  }

  #drawManner(): RetryBehaviour {
    let left = this.#options.random.next();
    return manners.find(({ share }) => (left -= share) < 0) ?? manners[0]!;
  }

  #send(request: ClientRequest): void {
    const { time, random } = this.#options;
    const way = new SimulatedConnection(time, random);
    way.send(() => {
      request.attempts++;
      request.arrivedAt = time.now;
      this.tally.attempted(request);
      this.#reach(request, (answer) => way.send(() => this.#take(request, answer)));
    });
  }

  #reach({ id, key: place, session, isDirect }: ClientRequest, answered: (answer: ClientAnswer) => void): void {
    const { random, gateways, servers } = this.#options;
    const key = this.#keys[place]!;
    const alive = servers.filter(({ process }) => process !== undefined);
    if (isDirect) return random.pick(alive).serve(key.hash, id, answered);
    const gateway = random.pick(gateways);
    gateway.process.receive(() => gateway.serve({ id, key, session, answered }));
  }

  #take(request: ClientRequest, answer: ClientAnswer): void {
    const { time, random, servers } = this.#options;
    const { manner, attempts } = request;
    if (answer.status === 503)
      this.tally.refused(
        request,
        answer,
        servers.some(({ isIdle }) => isIdle),
      );
    else if (answer.status !== 200) this.tally.failed();
    if (answer.status !== 200 && attempts < manner.attempts) {
      const isHinted = manner.obeys && answer.retryAfterMs > 0;
      const waitMs = isHinted ? answer.retryAfterMs : random.exponential(hastyMs);
      return time.after(waitMs, () => this.#send(request));
    }
    this.open.delete(request.id);
    if (answer.status === 200) this.tally.served(request);
  }
}
