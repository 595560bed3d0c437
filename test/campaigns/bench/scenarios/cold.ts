/**
 * Cost of the first requests of a process, one after the other: a Sluice with few requests is at this stage for hours. Each
 * round starts the pipe and the installations anew; they take turns in small parts, so that disturbances of the machine affect all.
 */
import type { Bench, ResultRow } from "../bench.ts";
import type { LoadSubject } from "../subject.ts";
import { cpuNs } from "../../../support/machine.ts";
import { median, spreadOf, spreadTolerance } from "../measure/rounds.ts";
import { spreadText } from "./cost.ts";

const part = 250;
const limit = 3.0;
const goal = 2.0;

/** Microseconds per request of each part, in order. */
type Course = readonly number[];

export async function measureCold(bench: Bench): Promise<readonly ResultRow[]> {
  const { pace, installations } = bench;
  const rounds: (readonly Course[])[] = [];
  for (let round = 0; round < pace.coldRounds; round++) {
    const fresh = await bench.startFresh();
    try {
      rounds.push(await courses(bench, [fresh.pipe, ...fresh.installations]));
    } finally {
      await fresh.stop();
    }
    const [pipe = [], ...others] = rounds.at(-1) ?? [];
    bench.say(
      `  pipe ${mean(pipe).toFixed(0)} us, ${others.map((course) => `${mean(course).toFixed(0)} us`).join(", ")}`,
    );
  }
  return installations.map((installation, index) => finding(bench, installation.name, rounds, index + 1));
}

async function courses({ load, pace }: Bench, subjects: readonly LoadSubject[]): Promise<readonly Course[]> {
  const found = subjects.map((): number[] => []);
  for (let done = 0; done < pace.coldRequests; done += part) {
    for (const [index, { target, pids }] of subjects.entries()) {
      const used = () => pids.reduce((sum, pid) => sum + cpuNs(pid), 0);
      const before = used();
      await load.call("exchangeAll", { target, script: { kind: "json" }, connections: 1, count: part });
      found[index]?.push((used() - before) / part / 1_000);
    }
  }
  return found;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

function finding(bench: Bench, name: string, rounds: readonly (readonly Course[])[], index: number): ResultRow {
  const { coldRequests } = bench.pace;
  const means = (which: number) => rounds.map((found) => mean(found[which] ?? []));
  const at = (percent: number) =>
    median(rounds.map((found) => (found[index] ?? []).at(percent === 100 ? -1 : 0) ?? Number.NaN)).toFixed(0);
  const spread = spreadOf(means(0));
  const ratio = median(means(index).map((us, round) => us / (means(0)[round] ?? Number.NaN)));
  return {
    measure:
      `cold: 1 KB requests one at a time, the first ${coldRequests} of a process, per request` +
      (bench.installations.length === 1 ? "" : ` [${name}]`),
    installation: `${median(means(index)).toFixed(0)} us (first ${part} ${at(0)}, last ${part} ${at(100)})`,
    pipe: `${median(means(0)).toFixed(0)} us (${spreadText(spread)})`,
    ratio: `median ${ratio.toFixed(2)} (${rounds.length} rounds)`,
    gate: `<= ${limit.toFixed(1)} (goal ${goal.toFixed(1)})`,
    verdict: spread.fold > spreadTolerance ? "inconclusive" : ratio <= limit ? "pass" : "MISS",
  };
}
