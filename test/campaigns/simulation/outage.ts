/** An outage of providers, as clients and providers see it. */
import { Load } from "./load.ts";
import { SimulatedReplica, buildCatalog, endpointPrices } from "./fleet.ts";
import { type ProviderHealth, SimulatedProvider } from "./provider.ts";
import { Random } from "../../support/random.ts";
import type { Size } from "./size.ts";
import type { VirtualTime } from "./virtual-time.ts";

export interface Outage {
  readonly name: string;
  readonly health: Exclude<ProviderHealth, "well">;
  /** Indices of the affected endpoints. */
  readonly places: readonly number[];
}

/** Seconds before the outage, and how long it lasts. */
const beforeS = 20;
export const outageS = 60;
/** No promise is waited for on the way of a request to the next endpoint. */
const settleMs = 10;

export interface OutageFigures {
  readonly name: string;
  readonly health: ProviderHealth;
  /** Every endpoint of the model was hit. */
  readonly isTotal: boolean;
  readonly requests: number;
  /** Calls of providers for each request, before and during the outage. */
  readonly callsBefore: number;
  readonly callsDuring: number;
  /** Calls in the second with the most calls. */
  readonly callsPeak: number;
  /** Share of failed requests during the outage, and in its worst second. */
  readonly failedDuring: number;
  readonly failedPeak: number;
  /** Share of failed requests after the outage. */
  readonly failedAfter: number;
  /** Seconds from the start of the outage until every replica has ejected the first of the endpoints; undefined when some did not. */
  readonly leftS: number | undefined;
  /** Seconds from the end of the outage until half of the replicas, nine of ten and all of them use the endpoint again. */
  readonly halfBackS: number | undefined;
  readonly mostBackS: number | undefined;
  readonly backS: number | undefined;
  /** Calls of the endpoint during the outage after every replica has ejected it, as a share of its calls before. */
  readonly restCalls: number;
  /** Calls of the endpoint within the busiest second after the outage, as a multiple of the mean before it. */
  readonly herd: number;
  /** The endpoint's mean calls a second before the outage. */
  readonly usualCalls: number;
  readonly balance: BalanceFigures;
}

/** The balance between the endpoints before the outage. */
export interface BalanceFigures {
  /** Share of the first calls of each endpoint, and its target share by price. */
  readonly shares: readonly number[];
  readonly expected: readonly number[];
  /** Standard deviation, over the replicas, of the first endpoint's share, and its expectation by pure chance. */
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

/** Notes ten times a second how many replicas use an endpoint. */
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

/** The most calls within any second from a tenth of a second on. */
function busiestSecond(calls: readonly (number | undefined)[], fromTenth: number): number {
  let most = 0;
  for (let from = fromTenth; from + 10 <= calls.length; from++)
    most = Math.max(most, sum(calls.slice(from, from + 10)));
  return most;
}

const shares = (values: readonly number[]): readonly number[] => values.map((value) => ratio(value, sum(values)));

/** @param sessions number of sessions of each replica: half of the requests are theirs, and a session stays with its endpoint */
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
