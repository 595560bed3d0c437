/** Measures the processor time of a request and of an event through each installation, and through a plain pipe. */
import type { Bench, ResultRow } from "../bench.ts";
import type { LoadSubject } from "../subject.ts";
import { buildRequestBody } from "../client/target.ts";
import { type Round, type Rounds, type Spread, median, medianInterval, pairedRounds } from "../measure/rounds.ts";
import { type SubjectLoad, type SubjectWindow, SubjectWindows } from "../measure/subject-windows.ts";
import { measureParsing } from "./parsing.ts";

export interface CostScenario extends SubjectLoad {
  readonly title: string;
  /** Maximum ratio of the installation's cost to that of the pipe; absent for a figure without a limit. */
  readonly gate?: number;
  readonly goal?: number;
  /** Whether to print the cost of parsing the body once, too. */
  readonly parsing?: true;
}

export const costScenarios = {
  U: {
    title: "U: 1 KB request, 0.7 KB answer, 32 connections, per request",
    script: { kind: "json" },
    connections: 32,
    spreadMs: 100,
    gate: 2.5,
    goal: 1.9,
  },
  U20: {
    title: "U20: 20 KB request, 28 items, 6 tools, 0.7 KB answer, 32 connections, per request",
    script: { kind: "json" },
    connections: 32,
    spreadMs: 100,
    form: { long: true },
    parsing: true,
    gate: 4.0,
    goal: 3.0,
  },
  P10: {
    title: "P10: 200 streams x 1 event / 20 ms, per event",
    script: { kind: "paced", deltas: 150, gapMs: 20 },
    connections: 200,
    spreadMs: 1_020,
    gate: 1.7,
    goal: 1.4,
  },
  B: {
    title: "B: streams of 200 events in one write, 16 connections, per event",
    script: { kind: "burst", deltas: 200 },
    connections: 16,
    spreadMs: 100,
    gate: 2.2,
    goal: 1.6,
  },
  P5: {
    title: "P5: 50 streams x 1 event / 10 ms, per event",
    script: { kind: "paced", deltas: 150, gapMs: 10 },
    connections: 50,
    spreadMs: 1_050,
    gate: 1.9,
    goal: 1.5,
  },
} as const satisfies Record<string, CostScenario>;

export interface CostRound extends Round {
  readonly windows: ReadonlyMap<LoadSubject, SubjectWindow>;
}

export interface CostResult {
  readonly findings: readonly ResultRow[];
  /** Number of failures over all windows, by message. */
  readonly problems: ReadonlyMap<string, number>;
}

export async function measureCost(bench: Bench, scenario: CostScenario): Promise<CostResult> {
  const { installations, installation } = bench;
  const references: LoadSubject[] = [];
  for (const reference of bench.references) {
    const problem = await findProblem(bench, scenario, reference);
    if (problem === undefined) references.push(reference);
    else bench.say(`  ${reference.name} is left out: ${problem}`);
  }
  const { rounds, problems } = await measureRounds(bench, scenario, [...references, ...installations]);
  const findings = [...references, ...installations].map((subject) => costFinding(bench, scenario, subject, rounds));
  for (const reference of references) findings.push(comparison(scenario, installation, reference, rounds));
  for (const other of installations.slice(1)) findings.push(comparison(scenario, installation, other, rounds));
  if (scenario.parsing)
    findings.push(measureParsing(buildRequestBody(installation.target, scenario.script, scenario.form)));
  return { findings, problems };
}

/** @param subjects subjects measured in turn with the pipe, and warmed up here */
export async function measureRounds(bench: Bench, load: SubjectLoad, subjects: readonly LoadSubject[]) {
  const windows = new SubjectWindows(bench, load);
  for (const subject of [bench.pipe, ...subjects])
    await windows.warmUp(subject, bench.pace.warmUpUnits, ({ units }) => units);
  return { rounds: await costRounds(bench, windows, subjects), problems: windows.problems };
}

/** @param subjects warm subjects, measured in turn with the pipe */
export function costRounds(bench: Bench, windows: SubjectWindows, subjects: readonly LoadSubject[]) {
  const { pipe, pace } = bench;
  const all = [pipe, ...subjects];
  return pairedRounds(
    pace.rounds,
    (round) => measureRound(bench, windows, round % 2 === 0 ? all : all.toReversed()),
    () => performance.now() < pace.repeatUntilMs,
  );
}

/**
 * Finds out whether a subject can serve a load: some references cannot stream in every version of Node. It tries twice, since a time limit may pass
 * on a busy machine. @returns the reason if it cannot
 */
export async function findProblem(
  { load }: Bench,
  { script, form }: SubjectLoad,
  { target }: LoadSubject,
): Promise<string | undefined> {
  const sendRequest = () =>
    load.call("exchangeAll", { target, script, ...(form && { form }), connections: 1, count: 1 });
  try {
    await sendRequest().catch(sendRequest);
    return undefined;
  } catch (error) {
    return (error as Error).message.split("\n", 1)[0];
  }
}

/** Microseconds per unit in each round. */
export const costsOf = ({ used }: Rounds<CostRound>, subject: LoadSubject): number[] =>
  used.map(({ windows }) => windowOf(windows, subject).us);

/** @param subjects subjects in the order of this round, which varies: later ones find warm caches */
async function measureRound(
  bench: Bench,
  windows: SubjectWindows,
  subjects: readonly LoadSubject[],
): Promise<CostRound> {
  const measured = new Map<LoadSubject, SubjectWindow>();
  for (const subject of subjects) measured.set(subject, await windows.of(subject, bench.pace.windowMs));
  const foreignShare = Math.max(...[...measured.values()].map((window) => window.foreignShare));
  const withProcesses = [...measured].filter(([{ pids }]) => pids.length > 0);
  bench.say(
    `  ${withProcesses.map(([{ name }, window]) => `${name} ${us(window.us)}`).join(", ")}, foreign load ${Math.round(foreignShare * 100)} %`,
  );
  return { referenceUs: windowOf(measured, bench.pipe).us, foreignShare, windows: measured };
}

/** @throws if the subject was not measured in the round */
export function windowOf(windows: CostRound["windows"], subject: LoadSubject): SubjectWindow {
  const window = windows.get(subject);
  if (window === undefined) throw new Error(`${subject.name} was not measured`);
  return window;
}

const us = (value: number) => `${value.toFixed(1)} us`;
const thousand = (perSecond: number) => `${(perSecond / 1_000).toFixed(1)} k/s`;

export const spreadRange = ({ leastUs, mostUs, fold }: Spread): string =>
  `${leastUs.toFixed(1)} to ${mostUs.toFixed(1)}, ${fold.toFixed(2)}-fold`;

function costFinding(bench: Bench, scenario: CostScenario, subject: LoadSubject, rounds: Rounds<CostRound>): ResultRow {
  const { used, rejected, spread, inconclusive } = rounds;
  const isInstallation = bench.installations.some((installation) => installation === subject);
  const middle = (pick: (window: SubjectWindow) => number, whose = subject) =>
    median(used.map(({ windows }) => pick(windowOf(windows, whose))));
  const ratios = used.map(({ windows, referenceUs }) => windowOf(windows, subject).us / referenceUs);
  const ratio = median(ratios);
  const gate: number | undefined = isInstallation ? scenario.gate : undefined;
  const each = (process: number) => us(middle(({ eachUs }) => eachUs[process] ?? Number.NaN));
  const parts = isInstallation && subject.pids.length > 1 ? ` (gateway ${each(0)}, inference-svc ${each(1)})` : "";
  const whole = isInstallation ? `, whole ${us(middle(({ wholeUs }) => wholeUs))}` : "";
  const named = isInstallation && bench.installations.length === 1 ? "" : ` [${subject.name}]`;
  return {
    measure: scenario.title + named,
    installation: `${us(middle((window) => window.us))}${parts}${whole} at ${thousand(middle(({ perSecond }) => perSecond))}`,
    pipe: `${us(median(used.map(({ referenceUs }) => referenceUs)))} (${spreadRange(spread)}) at ${thousand(middle(({ perSecond }) => perSecond, bench.pipe))}`,
    ratio: `median ${ratio.toFixed(2)}, min ${Math.min(...ratios).toFixed(2)} (${used.length} rounds${rejected > 0 ? `, ${rejected} rejected` : ""})`,
    gate: gate === undefined ? "" : `<= ${gate.toFixed(1)} (goal ${scenario.goal?.toFixed(1)})`,
    verdict: gate === undefined ? "reported" : inconclusive ? "inconclusive" : ratio <= gate ? "pass" : "MISS",
  };
}

/** Compares two subjects within the same rounds, where disturbances affect both alike. */
function comparison(
  scenario: CostScenario,
  first: LoadSubject,
  other: LoadSubject,
  { used }: Rounds<CostRound>,
): ResultRow {
  const ratio = (pick: (window: SubjectWindow) => number): string => {
    const ratios = used.map(({ windows }) => pick(windowOf(windows, other)) / pick(windowOf(windows, first)));
    const { from, to } = medianInterval(ratios);
    return `${median(ratios).toFixed(3)} (${from.toFixed(3)} to ${to.toFixed(3)})`;
  };
  const whole = other.recordPids && first.recordPids ? `, whole ${ratio(({ wholeUs }) => wholeUs)}` : "";
  return {
    measure: `${scenario.title}: ${other.name} against ${first.name}`,
    installation: "",
    pipe: "",
    ratio: `median ${ratio(({ us }) => us)} of ${used.length} rounds${whole}`,
    gate: "",
    verdict: "reported",
  };
}
