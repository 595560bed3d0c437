/**
 * Cost of the first requests of a process, one after another: a Sluice with few requests is at this stage for hours. Each round starts the pipe and
 * the installations anew; they are measured in turn in small parts, so disturbances of the machine affect all.
 */
import type { Bench, ResultRow } from "../bench.ts";
import type { LoadSubject } from "../subject.ts";
import { cpuNs } from "../../../support/machine.ts";
import { median, spreadOf, spreadTolerance } from "../measure/rounds.ts";
import { spreadRange } from "./cost.ts";

const part = 250;
const limit = 3.0;
const goal = 2.0;

/** Microseconds per request in each part, in order: `own` in the processes that serve it, `whole` with those that store its record. */
type Course = readonly { readonly own: number; readonly whole: number }[];

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
  const found = subjects.map((): Course[number][] => []);
  for (let done = 0; done < pace.coldRequests; done += part) {
    for (const [index, { target, pids, recordPids }] of subjects.entries()) {
      const used = (of: readonly number[]) => of.reduce((sum, pid) => sum + cpuNs(pid), 0);
      const records = recordPids?.() ?? [];
      const [before, stored] = [used(pids), used(records)];
      await load.call("exchangeAll", { target, script: { kind: "json" }, connections: 1, count: part });
      const own = (used(pids) - before) / part / 1_000;
      found[index]?.push({ own, whole: own + (used(records) - stored) / part / 1_000 });
    }
  }
  return found;
}

const mean = (course: Course, kind: keyof Course[number] = "own"): number =>
  course.reduce((sum, part) => sum + part[kind], 0) / course.length;

function finding(bench: Bench, name: string, rounds: readonly (readonly Course[])[], index: number): ResultRow {
  const { coldRequests } = bench.pace;
  const means = (which: number) => rounds.map((found) => mean(found[which] ?? []));
  const at = (percent: number) =>
    median(rounds.map((found) => (found[index] ?? []).at(percent === 100 ? -1 : 0)?.own ?? Number.NaN)).toFixed(0);
  const whole = median(rounds.map((found) => mean(found[index] ?? [], "whole")));
  const spread = spreadOf(means(0));
  const ratio = median(means(index).map((us, round) => us / (means(0)[round] ?? Number.NaN)));
  return {
    measure:
      `cold: 1 KB requests one at a time, the first ${coldRequests} of a process, per request` +
      (bench.installations.length === 1 ? "" : ` [${name}]`),
    installation: `${median(means(index)).toFixed(0)} us (first ${part} ${at(0)}, last ${part} ${at(100)}), whole ${whole.toFixed(0)} us`,
    pipe: `${median(means(0)).toFixed(0)} us (${spreadRange(spread)})`,
    ratio: `median ${ratio.toFixed(2)} (${rounds.length} rounds)`,
    gate: `<= ${limit.toFixed(1)} (goal ${goal.toFixed(1)})`,
    verdict: spread.fold > spreadTolerance ? "inconclusive" : ratio <= limit ? "pass" : "MISS",
  };
}
