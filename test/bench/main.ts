/** The bench: starts the roles and the house, runs the selected scenarios, prints one table, ends everything. */
import type { Bench, Finding } from "./bench.ts";
import { startHouse } from "./house.ts";
import { type CostId, type Options, type ScenarioId, readOptions } from "./options.ts";
import { report } from "./report.ts";
import type { LoadCommands } from "./roles/load.ts";
import type { MockCommands } from "./roles/mock.ts";
import type { PipeCommands } from "./roles/pipe.ts";
import { Role } from "./roles/role.ts";
import { cancelScript, measureCancel } from "./scenarios/cancel.ts";
import { costScenarios, measureCost } from "./scenarios/cost.ts";
import { guardedScripts, measureGuarded } from "./scenarios/guarded.ts";
import { idleScript, measureIdle } from "./scenarios/idle.ts";
import { measureIsolation, stormScript } from "./scenarios/isolation.ts";
import { measureOutage, outageScript } from "./scenarios/outage.ts";
import { measureOverload } from "./scenarios/overload.ts";
import { measureSlowReaders, slowReaderScripts } from "./scenarios/slow-readers.ts";

const subjectCpu = 0;
const loadCpu = 1;

/** Progress goes to standard error, the table to standard output. */
const say = (line: string) => void process.stderr.write(`${line}\n`);

/** Last opened, first closed. */
type Cleanup = (() => Promise<void>)[];

async function prepare(options: Options, cleanup: Cleanup, interruption: AbortSignal): Promise<Bench> {
  const own = <Opened extends { stop(): Promise<void> }>(opened: Opened): Opened => {
    cleanup.unshift(() => opened.stop());
    return opened;
  };
  const mock = own(new Role<MockCommands>("./mock.js", loadCpu));
  const load = own(new Role<LoadCommands>("./load.js", loadCpu));
  const pipe = own(new Role<PipeCommands>("./pipe.js", subjectCpu));
  const upstreamPort = await mock.call("listen");
  const pipePort = await pipe.call("listen", upstreamPort);
  say("starting the house");
  const scripts = [
    ...Object.values(costScenarios).map(({ script }) => script),
    ...guardedScripts,
    cancelScript,
    stormScript,
    ...slowReaderScripts,
    idleScript,
    outageScript,
  ];
  const house = own(await startHouse({ upstreamPort, scripts, cpu: subjectCpu, interruption }));
  return {
    load,
    mock,
    house,
    pipe: { target: { port: pipePort, format: "chat", key: "none" }, pid: pipe.pid },
    direct: { port: upstreamPort, format: "chat", key: "none" },
    pace: options.pace,
    say,
  };
}

async function measure(bench: Bench, { selected, quick }: Options): Promise<Finding[]> {
  const findings: Finding[] = [];
  const problems = new Map<string, number>();
  const run = async (id: ScenarioId, scenario: () => Promise<readonly Finding[]>) => {
    if (!selected.has(id)) return;
    say(id);
    findings.push(...(await scenario()));
  };
  // First: what is left free in a heap that has served others would hide what these streams take.
  await run("idle", async () => [await measureIdle(bench)]);
  for (const id of Object.keys(costScenarios) as CostId[]) {
    await run(id, async () => {
      const result = await measureCost(bench, costScenarios[id]);
      for (const [problem, count] of result.problems) problems.set(`${id} ${problem}`, count);
      return result.findings;
    });
  }
  await run("guarded", () => measureGuarded(bench));
  await run("cancel", () => patiently(async () => [await measureCancel(bench)]));
  // Never repeated: a stream that was killed once is one too many.
  await run("isolation", async () => [await measureIsolation(bench)]);
  await run("slow-readers", () => patiently(() => measureSlowReaders(bench)));
  await run("outage", () => measureOutage(bench, quick));
  // Last: it leaves the house with more garbage than any other.
  await run("overload", () => measureOverload(bench));
  return [...findings, errorFinding(problems)];
}

/** What depends on time fails on a machine that is busy with something else, too: then it is looked at again, at most twice. */
async function patiently(scenario: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  for (let again = 2; ; again--) {
    const findings = await scenario();
    if (again === 0 || findings.every(({ verdict }) => verdict !== "FAIL")) return findings;
    for (const { verdict, measure, house } of findings) if (verdict === "FAIL") say(`  again: ${measure}: ${house}`);
  }
}

function errorFinding(problems: ReadonlyMap<string, number>): Finding {
  let count = 0;
  for (const [problem, times] of problems) {
    say(`  ${times} x ${problem}`);
    count += times;
  }
  return {
    measure: "answers that were not complete and successful, in all windows of cost",
    house: String(count),
    pipe: "",
    ratio: "",
    gate: "0",
    verdict: count === 0 ? "pass" : "FAIL",
  };
}

async function closeAll(cleanup: Cleanup): Promise<void> {
  for (const close of cleanup.splice(0)) await close();
}

/** @returns whether the house behaved: a cost above its gate is told, but fails nothing, since machines differ */
async function bench(options: Options, interruption: AbortSignal): Promise<boolean> {
  const cleanup: Cleanup = [];
  let closing = Promise.resolve();
  // What is opened while an interruption closes the rest is closed by the second call.
  const close = () => (closing = closing.then(() => closeAll(cleanup)));
  interruption.addEventListener("abort", () => void close());
  try {
    const findings = await measure(await prepare(options, cleanup, interruption), options);
    process.stdout.write(report(findings, options.pace));
    return findings.every(({ verdict }) => verdict !== "FAIL");
  } finally {
    await close();
  }
}

async function main(args: readonly string[]): Promise<number> {
  const interruption = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => interruption.abort());
  try {
    if (process.platform !== "linux") throw new Error("the bench reads /proc, which only Linux has");
    return (await bench(readOptions(args), interruption.signal)) ? 0 : 1;
  } catch (error) {
    if (interruption.signal.aborted) return 130;
    say(error instanceof Error ? error.message : String(error));
    return 2;
  }
}

// Exits even if the channel to a role that was ended is still open.
process.exit(await main(process.argv.slice(2)));
