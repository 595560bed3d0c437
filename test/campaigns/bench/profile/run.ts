/** `npm run bench -- --profile`: the processor time of gateway and inference-svc by kind of code, after their warm-up. */
import { openCheckout } from "../checkouts.ts";
import { type CountedService, countedServices } from "../counts/counted-installation.ts";
import { CountBench, type CountedLoad, type CountedLoadId, countedLoads } from "../counts/measure.ts";
import { kindOf } from "./kinds.ts";
import { type PerfSample, perfDenial, perfNodeOptions, removeNames, samplesDuring } from "./perf.ts";
import { placeOf } from "./places.ts";

export interface ProfileOptions {
  readonly profiled: readonly CountedLoadId[];
  readonly checkouts: readonly string[];
  /** Number of places with the most time to report. */
  readonly places: number;
}

/** Share of processor time in each process, by kind. */
type Shares = Readonly<Record<CountedService, ReadonlyMap<string, number>>>;

interface Profile {
  readonly kinds: Shares;
  /** Shares by function of Sluice; undefined if only kinds are known. */
  readonly places: Shares | undefined;
}

const byNode =
  "by Node's own profiler, which tells fewer kinds apart and sees the main thread only, by the clock: the work that V8 does for " +
  "JavaScript counts as JavaScript";

export async function runProfile(
  { profiled, checkouts, places }: ProfileOptions,
  say: (line: string) => void,
  interruption: AbortSignal,
): Promise<string> {
  const denial = perfDenial();
  const tables: string[] = [];
  for (const path of checkouts.length === 0 ? [undefined] : checkouts) {
    const checkout = await openCheckout(path, say);
    say(`starting the installation of ${checkout.name}`);
    const nodeOptions = denial === undefined ? perfNodeOptions : [];
    const bench = await CountBench.open({ checkout: checkout.path, embeddedPostgres: true, nodeOptions });
    const pids = Object.values(bench.pids);
    try {
      for (const id of profiled) {
        if (interruption.aborted) break;
        say(`  ${id}`);
        const profile =
          denial === undefined ? await byPerf(bench, countedLoads[id]) : await byProfiler(bench, countedLoads[id]);
        const source = denial === undefined ? "by perf, all threads" : `${denial}: ${byNode}`;
        tables.push(`${checkout.name}, ${countedLoads[id].title} (${source}):\n\n${table(profile.kinds)}`);
        if (profile.places && places > 0) tables.push(placesText(profile.places, places));
      }
    } finally {
      await bench.stop();
      removeNames(pids);
    }
  }
  return tables.join("\n");
}

async function byPerf(bench: CountBench, load: CountedLoad): Promise<Profile> {
  const counted = countedServices.map((service) => bench.pids[service] as number);
  const samples = await bench.warm(load, (run) => samplesDuring(counted, run));
  const by = (name: (sample: PerfSample) => string) =>
    sharesOf((service) => {
      const own = samples.filter(({ pid }) => pid === bench.pids[service]);
      return own.map((sample) => [name(sample), 1] as const);
    });
  return { kinds: by(({ frames: [inner] }) => (inner ? kindOf(inner) : "other")), places: by(placeOf) };
}

async function byProfiler(bench: CountBench, load: CountedLoad): Promise<Profile> {
  const kinds = await bench.kinds(load);
  return { kinds: sharesOf((service) => kinds[service].places), places: undefined };
}

function sharesOf(amounts: (service: CountedService) => readonly (readonly [kind: string, amount: number])[]): Shares {
  const shares = (service: CountedService) => {
    const all = amounts(service);
    const sum = all.reduce((before, [, amount]) => before + amount, 0);
    const found = new Map<string, number>();
    for (const [kind, amount] of all) found.set(kind, (found.get(kind) ?? 0) + amount / sum);
    return found;
  };
  return { gateway: shares("gateway"), "inference-svc": shares("inference-svc") };
}

function table(shares: Shares): string {
  const kinds = [...new Set(countedServices.flatMap((service) => [...shares[service].keys()]))];
  const both = (kind: string) => countedServices.reduce((sum, service) => sum + (shares[service].get(kind) ?? 0), 0);
  const lines = kinds
    .sort((a, b) => both(b) - both(a))
    .map(
      (kind) => `| ${[kind, ...countedServices.map((service) => percent(shares[service].get(kind)))].join(" | ")} |`,
    );
  return ["| kind | gateway | inference-svc |", "| --- | --- | --- |", ...lines, ""].join("\n");
}

const percent = (share = 0) => `${(share * 100).toFixed(1)} %`;

function placesText(shares: Shares, count: number): string {
  const lines: string[] = [];
  for (const service of countedServices) {
    lines.push(`time of ${service} by the function of Sluice that asked for it`);
    const largest = [...shares[service]].sort(([, a], [, b]) => b - a).slice(0, count);
    for (const [place, share] of largest) lines.push(`${percent(share).padStart(8)}  ${place}`);
  }
  return `${lines.join("\n")}\n`;
}
