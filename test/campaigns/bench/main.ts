/** The bench: starts the roles and the installations, runs the selected scenarios, prints one table, and ends everything. */
import type { Bench, ResultRow } from "./bench.ts";
import { runCounts } from "./counts/run.ts";
import { type CostId, type BenchOptions, type Options, type ScenarioId, readOptions } from "./options.ts";
import { installPeers } from "./peers/install.ts";
import { isInNetworkNamespace, runInNetworkNamespace } from "./peers/namespace.ts";
import { runPeers } from "./peers/run.ts";
import { report } from "./report.ts";
import { runProfile } from "./profile/run.ts";
import { measureCancel } from "./scenarios/cancel.ts";
import { measureCold } from "./scenarios/cold.ts";
import { costScenarios, measureCost } from "./scenarios/cost.ts";
import { measureDoors } from "./scenarios/doors.ts";
import { measureFirstEvent } from "./scenarios/first-event.ts";
import { measureGrowth } from "./scenarios/growth.ts";
import { measureGuarded } from "./scenarios/guarded.ts";
import { measureIdle } from "./scenarios/idle.ts";
import { measureIsolation } from "./scenarios/isolation.ts";
import { measureOutage } from "./scenarios/outage.ts";
import { measureOverload } from "./scenarios/overload.ts";
import { measureSlowReaders } from "./scenarios/slow-readers.ts";
import { prepareBench, whileOpen } from "./setup.ts";

/** Prints progress to standard error; the table goes to standard output. */
const say = (line: string) => void process.stderr.write(`${line}\n`);

async function measure(bench: Bench, { selected, quick }: BenchOptions): Promise<ResultRow[]> {
  const findings: ResultRow[] = [];
  const problems = new Map<string, number>();
  const run = async (id: ScenarioId, scenario: () => Promise<readonly ResultRow[]>) => {
    if (!selected.has(id)) return;
    say(id);
    findings.push(...(await scenario()));
  };
  // The idle scenario runs first: in a used heap, free space would hide the memory of its streams.
  await run("idle", async () => [await measureIdle(bench)]);
  for (const id of Object.keys(costScenarios) as CostId[]) {
    await run(id, async () => {
      const result = await measureCost(bench, costScenarios[id]);
      for (const [problem, count] of result.problems) problems.set(`${id} ${problem}`, count);
      return result.findings;
    });
  }
  await run("first", () => measureFirstEvent(bench));
  await run("cold", () => measureCold(bench));
  await run("guarded", () => measureGuarded(bench));
  await run("doors", () => measureDoors(bench));
  await run("cancel", () => patiently(async () => [await measureCancel(bench)]));
  // The isolation scenario is never repeated, since a single killed stream is a failure.
  await run("isolation", async () => [await measureIsolation(bench)]);
  await run("slow-readers", () => patiently(() => measureSlowReaders(bench)));
  await run("outage", () => measureOutage(bench, quick));
  await run("growth", () => measureGrowth(bench));
  // The overload scenario runs last, because it leaves the most garbage behind.
  await run("overload", () => measureOverload(bench));
  return [...findings, errorFinding(problems)];
}

/** Repeats a failed scenario at most twice, since timings fail on a machine that is busy with other work. */
async function patiently(scenario: () => Promise<readonly ResultRow[]>): Promise<readonly ResultRow[]> {
  for (let again = 2; ; again--) {
    const findings = await scenario();
    if (again === 0 || findings.every(({ verdict }) => verdict !== "FAIL")) return findings;
    for (const { verdict, measure, installation } of findings)
      if (verdict === "FAIL") say(`  again: ${measure}: ${installation}`);
  }
}

function errorFinding(problems: ReadonlyMap<string, number>): ResultRow {
  let count = 0;
  for (const [problem, times] of problems) {
    say(`  ${times} x ${problem}`);
    count += times;
  }
  return {
    measure: "answers that were not complete and successful, in all windows of cost",
    installation: String(count),
    pipe: "",
    ratio: "",
    gate: "0",
    verdict: count === 0 ? "pass" : "FAIL",
  };
}

/** @returns whether the installation behaved correctly. A cost above its limit is printed, but is not a failure, since machines differ. */
function bench(options: BenchOptions, interruption: AbortSignal): Promise<boolean> {
  return whileOpen(interruption, async (opened) => {
    const findings = await measure(await prepareBench(options, opened, say), options);
    process.stdout.write(report(findings, options.pace));
    return findings.every(({ verdict }) => verdict !== "FAIL");
  });
}

function printed(options: Exclude<Options, BenchOptions>, interruption: AbortSignal): Promise<string> {
  if ("profiled" in options) return runProfile(options, say, interruption);
  if ("loads" in options) return runCounts(options, say, interruption);
  return "peersAt" in options ? runPeers(options, say, interruption) : installPeers(say);
}

async function main(args: readonly string[]): Promise<number> {
  const interruption = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => interruption.abort());
  try {
    if (process.platform !== "linux") throw new Error("the bench reads /proc, which only Linux has");
    const options = readOptions(args);
    if ("selected" in options) return (await bench(options, interruption.signal)) ? 0 : 1;
    if ("peersAt" in options && !isInNetworkNamespace()) return await runInNetworkNamespace(interruption.signal);
    process.stdout.write(await printed(options, interruption.signal));
    return 0;
  } catch (error) {
    if (interruption.signal.aborted) return 130;
    say(error instanceof Error ? error.message : String(error));
    return 2;
  }
}

// The process exits even if the channel to an ended role is still open.
process.exit(await main(process.argv.slice(2)));
