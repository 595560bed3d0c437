/** An outage of providers, as clients and providers notice it. */
import { Load } from "./load.ts";
import { SimulatedReplica, buildCatalog, endpointPrices } from "./fleet.ts";
import { type ProviderHealth, SimulatedProvider } from "./provider.ts";
import { Random } from "../../support/random.ts";
import type { Size } from "./size.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface Outage {
  readonly name: string;
  readonly health: Exclude<ProviderHealth, "well">;
  /** Indices of the endpoints with the outage. */
  readonly places: readonly number[];
}

/** Seconds before the outage, and seconds of the outage. */
const beforeS = 20;
export const outageS = 60;
/** Milliseconds of virtual time in which promises may stay unsettled: a request waits for none on its way to the next endpoint. */
const settleMs = 10;

export interface OutageFigures {
  readonly name: string;
  readonly health: ProviderHealth;
  /** Whether every endpoint of the model had the outage. */
  readonly isTotal: boolean;
  readonly requests: number;
  /** Calls to providers per request, before and during the outage. */
  readonly callsBefore: number;
  readonly callsDuring: number;
  /** Number of calls in the second with the most calls. */
  readonly callsPeak: number;
  /** Share of failed requests during the outage, and in its worst second. */
  readonly failedDuring: number;
  readonly failedPeak: number;
  /** Share of failed requests after the outage. */
  readonly failedAfter: number;
  /** Seconds from the start of the outage until every replica had ejected the first of the endpoints; undefined if some did not. */
  readonly leftS: number | undefined;
  /** Seconds from the end of the outage until half of the replicas, nine of ten, and all of them used the endpoint again. */
  readonly halfBackS: number | undefined;
  readonly mostBackS: number | undefined;
  readonly backS: number | undefined;
  /** Calls of the endpoint during the outage, once every replica had ejected it, as a share of its calls before. */
  readonly restCalls: number;
  /** Calls of the endpoint in the busiest second after the outage, as a multiple of the mean before the outage. */
  readonly herd: number;
  /** Mean number of calls per second to the endpoint before the outage. */
  readonly usualCalls: number;
  readonly balance: BalanceFigures;
}

/** The balance between the endpoints before the outage. */
export interface BalanceFigures {
  /** Share of the first calls at each endpoint, and its expected share by price. */
  readonly shares: readonly number[];
  readonly expected: readonly number[];
  /** Standard deviation of the first endpoint's share over the replicas, and the deviation expected by chance. */
  readonly deviation: number;
  readonly chance: number;
}

export async function simulateOutage(
  time: VirtualTime,
  seed: number,
  size: Size,
  outage: Outage,
): Promise<OutageFigures> {
  const random = new Random(seed);
  const providers = endpointPrices.map(() => new SimulatedProvider(time, random));
  const catalog = buildCatalog();
  const replicas = Array.from({ length: size.replicas }, () => new SimulatedReplica(time, catalog, providers));
  const [watched = 0] = outage.places;
  const load = new Load({ time, random, replicas, keys: size.keys, rate: size.requestsPerSecond });
  load.countsFirstCalls = true;
  await time.pass(beforeS * 1_000, settleMs);
  load.countsFirstCalls = false;
  const inUse = new UseOf(time, replicas, watched);
  for (const place of outage.places) providers[place]!.health = outage.health;
  await time.pass(outageS * 1_000, settleMs);
  for (const place of outage.places) providers[place]!.health = "well";
  inUse.outageIsOver();
  await time.pass(size.afterS * 1_000, settleMs);
  load.end();
  inUse.end();
  return figuresOf(outage, load, providers[watched]!, inUse, size);
}

/** Records ten times a second how many replicas use an endpoint. */
class UseOf {
  leftS: number | undefined;
  halfBackS: number | undefined;
  mostBackS: number | undefined;
  backS: number | undefined;
  #endedAt = Number.POSITIVE_INFINITY;
  #isOver = false;

  constructor(time: VirtualTime, replicas: readonly SimulatedReplica[], place: number) {
    const startedAt = time.now;
    const look = (): void => {
      if (this.#isOver) return;
      const using = replicas.filter((replica) => replica.stateOf(place, time.now) === "in use").length;
      if (using === 0) this.leftS ??= (time.now - startedAt) / 1_000;
      const endedS = (time.now - this.#endedAt) / 1_000;
      if (endedS >= 0 && 2 * using >= replicas.length) this.halfBackS ??= endedS;
      if (endedS >= 0 && using >= 0.9 * replicas.length) this.mostBackS ??= endedS;
      if (endedS >= 0 && using === replicas.length) this.backS ??= endedS;
      time.after(100, look);
    };
    look();
    this.outageIsOver = () => void (this.#endedAt = time.now);
  }

  readonly outageIsOver: () => void;

  end(): void {
    this.#isOver = true;
  }
}

const ratio = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
const sum = (values: readonly (number | undefined)[]): number => values.reduce<number>((a, b) => a + (b ?? 0), 0);

function figuresOf(outage: Outage, load: Load, provider: SimulatedProvider, inUse: UseOf, size: Size): OutageFigures {
  const endS = beforeS + outageS;
  const before = load.sum(1, beforeS);
  const during = load.sum(beforeS, endS);
  const after = load.sum(endS, endS + size.afterS);
  const seconds = load.seconds.slice(beforeS, endS);
  const usualCalls = sum(provider.calls.slice(10, beforeS * 10)) / (beforeS - 1);
  const restFromTenth = Math.ceil((beforeS + (inUse.leftS ?? outageS)) * 10);
  const restTenths = Math.max(1, endS * 10 - restFromTenth);
  return {
    name: outage.name,
    health: outage.health,
    isTotal: outage.places.length === endpointPrices.length,
    requests: load.sum(0, endS + size.afterS).requests,
    callsBefore: ratio(before.calls, before.requests),
    callsDuring: ratio(during.calls, during.requests),
    callsPeak: Math.max(...seconds.map(({ calls, requests }) => ratio(calls, requests))),
    failedDuring: ratio(during.failed, during.requests),
    failedPeak: Math.max(...seconds.map(({ failed, requests }) => ratio(failed, requests))),
    failedAfter: ratio(after.failed, after.requests),
    leftS: inUse.leftS,
    halfBackS: inUse.halfBackS,
    mostBackS: inUse.mostBackS,
    backS: inUse.backS,
    restCalls: ratio(sum(provider.calls.slice(restFromTenth, endS * 10)) / restTenths, usualCalls / 10),
    herd: ratio(busiestSecond(provider.calls, endS * 10), usualCalls),
    usualCalls,
    balance: balanceOf(load.firstCalls, size.keys / size.replicas),
  };
}

/** Maximum number of calls within any second, from a given tenth of a second on. */
function busiestSecond(calls: readonly (number | undefined)[], fromTenth: number): number {
  let most = 0;
  for (let from = fromTenth; from + 10 <= calls.length; from++)
    most = Math.max(most, sum(calls.slice(from, from + 10)));
  return most;
}

const shares = (values: readonly number[]): readonly number[] => values.map((value) => ratio(value, sum(values)));

/** @param sessions number of sessions of each replica: half of the requests belong to sessions, and a session stays at its endpoint */
function balanceOf(replicas: readonly (readonly number[])[], sessions: number): BalanceFigures {
  const expected = shares(endpointPrices.map((price) => Number(price) ** -2));
  const [first = 0] = expected;
  const variance = sum(replicas.map((calls) => (shares(calls)[0]! - first) ** 2)) / replicas.length;
  const draws = replicas.map((calls) => 1 / (1 / Math.max(1, sum(calls)) + 0.5 ** 2 / sessions));
  const chance = sum(draws.map((count) => (first * (1 - first)) / count)) / replicas.length;
  return {
    shares: shares(endpointPrices.map((_, place) => sum(replicas.map((calls) => calls[place])))),
    expected,
    deviation: Math.sqrt(variance),
    chance: Math.sqrt(chance),
  };
}
