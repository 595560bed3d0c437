/** The path of one request through the code: the source files and functions that gateway and inference-svc enter for it. */
import type { CountsByService, CountedService } from "../bench/counts/counted-installation.ts";
import { CountBench, type CountedLoad } from "../bench/counts/measure.ts";

/** A little above what a plain stream enters in both processes (238 and 1,117 on 2026-11-30, in the evening; 231 and 1,061 before repairs of histories, of escapes and of repeated deliveries). Merging files for the sake of the figure would help no reader. */
export const maxFiles = 242;
export const maxFunctions = 1_140;

/** A stream of ten deltas without plugins and guardrails, measured after three equal ones. */
export const plainStream: CountedLoad = {
  title: "a stream of ten deltas",
  script: { kind: "burst", deltas: 10 },
  connections: 1,
  unitsEach: 1,
  warmUp: 3,
  count: 1,
};

/** Milliseconds to observe idle processes, whose timers and watches run about once a second. */
const idleMs = 5_000;

/** Functions that were entered, as "name file:line". */
export type EnteredFunctions = Readonly<Record<CountedService, readonly string[]>>;

/** @returns functions that the request entered, without those that idle processes enter, too */
export async function walk(load: CountedLoad, embeddedPostgres: boolean): Promise<EnteredFunctions> {
  const bench = await CountBench.open({ embeddedPostgres, loads: [load] });
  try {
    // The first run enters code that runs only once, such as the first read of a key's policy.
    await bench.functions(load);
    const entered = await bench.functions(load);
    return without(entered, await bench.functionsWhileIdle(idleMs));
  } finally {
    await bench.stop();
  }
}

function without(entered: CountsByService, idle: CountsByService): EnteredFunctions {
  const namesOf = (counted: CountsByService, service: CountedService) =>
    counted[service].places.map(([label]) => label);
  const left = (service: CountedService) => {
    const ofTimers = new Set(namesOf(idle, service));
    return namesOf(entered, service).filter((label) => !ofTimers.has(label));
  };
  return { gateway: left("gateway"), "inference-svc": left("inference-svc") };
}

/** Path of a function's source file, from the function's label. */
export const fileOf = (label: string): string => label.replace(/^.* /, "").replace(/:\d+$/, "");
