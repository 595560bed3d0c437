/**
 * An overloaded fleet. Loads are multiples of the joint capacity of its inference processes. One process is slow, and another is lost in the middle
 * of the second phase and returns later.
 */
import { Random } from "../../../support/random.ts";
import type { VirtualTime } from "../virtual-time.ts";
import { FleetClients } from "./clients.ts";
import { SimulatedGateway } from "./gateway.ts";
import { SimulatedServer } from "./server.ts";
import type { PhaseCounts } from "./tally.ts";

export interface SheddingSize {
  readonly gateways: number;
  readonly processes: number;
  readonly keys: number;
  /** Mean processor time of a turn in an inference process, in microseconds. */
  readonly turnUs: number;
  readonly phaseS: number;
}

/** Factor by which the first process is slower than the others. */
export const slowdownFactor = 3;
/** Seconds until the last client has given up: two pauses of 5 s, and a wait. */
const drainS = 30;

interface Phase {
  readonly name: string;
  readonly load: number;
  readonly greedyShare: number;
  /** Whether a process is lost in the second third of the phase. */
  readonly loses: boolean;
}

const phases: readonly Phase[] = [
  { name: "0.8 of what it can", load: 0.8, greedyShare: 0, loses: false },
  { name: "1.5 times", load: 1.5, greedyShare: 0, loses: true },
  { name: "2 times, half from one key", load: 2, greedyShare: 0.5, loses: false },
  { name: "0.8 again", load: 0.8, greedyShare: 0, loses: false },
];

export interface PhaseFigures extends Phase {
  readonly counts: PhaseCounts;
  /** Capacity of the processes, in turns. */
  readonly capacity: number;
}

export interface SheddingFigures {
  readonly phases: readonly PhaseFigures[];
  /** Seconds of the last phase until requests, with their retries, fall below the capacity of the processes. */
  readonly fallenS: number;
  /** Seconds from then until no request is refused. */
  readonly recoveredS: number;
  /** Seconds from the same moment until no gateway is overloaded. */
  readonly calmS: number;
  /** Number of requests without an answer. */
  readonly lost: number;
}

export function simulateShedding(time: VirtualTime, seed: number, size: SheddingSize): Promise<SheddingFigures> {
  return new SheddingRun(time, seed, size).run();
}

class SheddingRun {
  readonly #time: VirtualTime;
  readonly #size: SheddingSize;
  readonly #servers: readonly SimulatedServer[];
  readonly #gateways: readonly SimulatedGateway[];
  readonly #clients: FleetClients;
  #fallenS: number | undefined;
  #recoveredS: number | undefined;
  #calmS: number | undefined;

  constructor(time: VirtualTime, seed: number, size: SheddingSize) {
    const random = new Random(seed);
    const begun = (id: string, now: number) => this.#clients.begun(id, now);
    this.#time = time;
    this.#size = size;
    this.#servers = Array.from({ length: size.processes }, (_, place) => {
      const address = `10.0.0.${place}:8081`;
      const isSlow = place === 0;
      return new SimulatedServer({
        time,
        random,
        address,
        turnMs: size.turnUs / 1_000,
        slowness: isSlow ? slowdownFactor : 1,
        begun,
      });
    });
    const byAddress = new Map(this.#servers.map((server) => [server.options.address, server]));
    this.#gateways = Array.from({ length: size.gateways }, () => new SimulatedGateway(time, byAddress));
    this.#clients = new FleetClients({
      time,
      random,
      gateways: this.#gateways,
      servers: this.#servers,
      keys: size.keys,
    });
  }

  async run(): Promise<SheddingFigures> {
    await this.#pass(1);
    const figures: PhaseFigures[] = [];
    for (const phase of phases) figures.push(await this.#phase(phase));
    this.#clients.demand.rate = 0;
    await this.#pass(drainS);
    return {
      phases: figures,
      fallenS: this.#fallenS ?? Number.POSITIVE_INFINITY,
      recoveredS: this.#recoveredS ?? Number.POSITIVE_INFINITY,
      calmS: this.#calmS ?? Number.POSITIVE_INFINITY,
      lost: this.#clients.open.size,
    };
  }

  async #phase(phase: Phase): Promise<PhaseFigures> {
    const { demand, tally } = this.#clients;
    const isFirst = demand.rate === 0;
    demand.rate = phase.load * this.#capacityOfSecond();
    demand.greedyShare = phase.greedyShare;
    if (isFirst) this.#clients.arrive();
    const counts = tally.begin();
    const thirdS = Math.floor(this.#size.phaseS / 3);
    let capacity = 0;
    for (let second = 0; second < this.#size.phaseS; second++) {
      if (phase.loses && second === thirdS) this.#lose();
      if (phase.loses && second === 2 * thirdS) this.#lost.start();
      capacity += this.#capacityOfSecond();
      await this.#second(second, counts);
    }
    return { ...phase, counts, capacity };
  }

  /**
   * Runs one second, and records when the load has fallen and when the fleet has recovered. A new overload discards these times, so only the
   * last ones remain.
   */
  async #second(second: number, counts: PhaseCounts): Promise<void> {
    const before = { attempts: counts.sum("attempts"), refused: counts.sum("refused") };
    await this.#pass(1);
    const attempts = counts.sum("attempts") - before.attempts;
    if (attempts > this.#capacityOfSecond()) this.#fallenS = this.#recoveredS = this.#calmS = undefined;
    else this.#fallenS ??= second;
    const sinceS = second - (this.#fallenS ?? second);
    const refuses = counts.sum("refused") > before.refused;
    this.#recoveredS = refuses ? undefined : (this.#recoveredS ?? sinceS);
    const overloaded = this.#gateways.some(({ pressure }) => pressure.overloaded);
    this.#calmS = overloaded ? undefined : (this.#calmS ?? sinceS);
  }

  get #lost(): SimulatedServer {
    return this.#servers[1]!;
  }

  #lose(): void {
    this.#clients.tally.lostAt = this.#time.now;
    this.#lost.lose();
  }

  /** Capacity of the running processes, in turns per second. */
  #capacityOfSecond(): number {
    const alive = this.#servers.filter(({ process }) => process !== undefined);
    return alive.reduce((sum, { options }) => sum + 1_000 / options.turnMs / options.slowness, 0);
  }

  /** Lets time pass; the loops of the processes settle promises. */
  #pass(seconds: number): Promise<void> {
    return this.#time.pass(seconds * 1_000, Number.POSITIVE_INFINITY);
  }
}
