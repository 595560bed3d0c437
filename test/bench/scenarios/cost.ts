/** What a request or an event costs in processor time, house against pipe, and how much later the first event comes. */
import type { Bench, Finding } from "../bench.ts";
import { type RequestForm, type Target, bodyOf } from "../client/target.ts";
import { type Round, type Rounds, median, pairedRounds } from "../measure/rounds.ts";
import type { LoadWindow } from "../roles/load.ts";
import type { Script } from "../script.ts";
import { measureParsing } from "./parsing.ts";

export interface CostScenario {
  readonly title: string;
  readonly script: Script;
  readonly connections: number;
  readonly spreadMs: number;
  /** House to pipe; absent where the figure is only reported. */
  readonly gate?: number;
  readonly goal?: number;
  readonly form?: RequestForm;
  /** Also what parsing the body once costs. */
  readonly parsing?: true;
  /** Also without any proxy, to say how much later the first event comes. */
  readonly firstEvent?: true;
}

export const costScenarios = {
  U: {
    title: "U: 1 KB request, 0.7 KB answer, 32 connections, per request",
    script: { kind: "json" },
    connections: 32,
    spreadMs: 100,
    gate: 2.0,
  },
  U20: {
    title: "U20: 20 KB request, 0.7 KB answer, 32 connections, per request",
    script: { kind: "json" },
    connections: 32,
    spreadMs: 100,
    form: { long: true },
    parsing: true,
  },
  P10: {
    title: "P10: 200 streams x 1 event / 20 ms, per event",
    script: { kind: "paced", deltas: 150, gapMs: 20 },
    connections: 200,
    spreadMs: 1_000,
    gate: 2.2,
    goal: 1.8,
  },
  B: {
    title: "B: streams of 200 events in one write, 16 connections, per event",
    script: { kind: "burst", deltas: 200 },
    connections: 16,
    spreadMs: 100,
    gate: 3.0,
  },
  P5: {
    title: "P5: 50 streams x 1 event / 10 ms, per event",
    script: { kind: "paced", deltas: 150, gapMs: 10 },
    connections: 50,
    spreadMs: 1_000,
    firstEvent: true,
  },
} as const satisfies Record<string, CostScenario>;

interface CostRound extends Round {
  readonly gatewayUs: number;
  readonly inferenceUs: number;
  readonly houseRate: number;
  readonly pipeRate: number;
  readonly houseFirstMs: readonly number[];
  readonly pipeFirstMs: readonly number[];
  readonly directFirstMs: readonly number[];
}

export interface CostResult {
  readonly findings: readonly Finding[];
  /** What went wrong in any window, and how often. */
  readonly problems: ReadonlyMap<string, number>;
}

export async function measureCost(bench: Bench, scenario: CostScenario): Promise<CostResult> {
  const runner = new CostRunner(bench, scenario);
  await runner.warmUp();
  const { rounds, repeatUntilMs } = bench.pace;
  const result = await pairedRounds(
    rounds,
    () => runner.round(),
    () => performance.now() < repeatUntilMs,
  );
  const findings = [costFinding(scenario, result)];
  if (scenario.firstEvent) findings.push(firstEventFinding(result));
  if (scenario.parsing) findings.push(measureParsing(bodyOf(bench.house.target, scenario.script, scenario.form)));
  return { findings, problems: runner.problems };
}

/** However slow the machine is, the run as a whole is bounded. */
const warmUpWindows = 6;

class CostRunner {
  readonly problems = new Map<string, number>();
  readonly #bench: Bench;
  readonly #scenario: CostScenario;

  constructor(bench: Bench, scenario: CostScenario) {
    this.#bench = bench;
    this.#scenario = scenario;
  }

  async warmUp(): Promise<void> {
    const { pipe, house, pace } = this.#bench;
    for (const target of [pipe.target, house.target]) {
      let units = 0;
      for (let left = warmUpWindows; left > 0; left--) {
        units += (await this.#window(target, [], pace.warmUpMs)).units;
        if (units >= pace.warmUpUnits) break;
      }
    }
  }

  async round(): Promise<CostRound> {
    const { pipe, house, direct, pace } = this.#bench;
    const reference = await this.#window(pipe.target, [pipe.pid], pace.windowMs);
    const subject = await this.#window(house.target, [house.gatewayPid, house.inferencePid], pace.windowMs);
    const without = this.#scenario.firstEvent ? await this.#window(direct, [], pace.windowMs) : undefined;
    const [gatewayUs = 0, inferenceUs = 0] = perUnitUs(subject);
    const [referenceUs = 0] = perUnitUs(reference);
    const round = {
      referenceUs,
      gatewayUs,
      inferenceUs,
      subjectUs: gatewayUs + inferenceUs,
      foreignShare: Math.max(reference.foreignShare, subject.foreignShare),
      houseRate: rate(subject),
      pipeRate: rate(reference),
      houseFirstMs: subject.firstMs,
      pipeFirstMs: reference.firstMs,
      directFirstMs: without?.firstMs ?? [],
    };
    this.#bench.say(
      `  pipe ${us(referenceUs)}, house ${us(round.subjectUs)}, ratio ${(round.subjectUs / referenceUs).toFixed(2)}, ` +
        `foreign load ${percent(round.foreignShare)}`,
    );
    return round;
  }

  async #window(target: Target, watched: readonly number[], windowMs: number): Promise<LoadWindow> {
    const { script, connections, spreadMs, form } = this.#scenario;
    const window = await this.#bench.load.call("window", {
      target,
      script,
      connections,
      spreadMs,
      ...(form && { form }),
      rampMs: spreadMs + 300,
      windowMs,
      watched,
      root: process.pid,
    });
    for (const [problem, count] of window.problems) {
      const named = `${target.format === "responses" ? "house" : "pipe"}: ${problem}`;
      this.problems.set(named, (this.problems.get(named) ?? 0) + count);
    }
    return window;
  }
}

const perUnitUs = ({ watchedNs, units }: LoadWindow) => watchedNs.map((ns) => ns / units / 1_000);
const rate = ({ units, durationMs }: LoadWindow) => (units / durationMs) * 1_000;
const us = (value: number) => `${value.toFixed(1)} us`;
const percent = (share: number) => `${Math.round(share * 100)} %`;
const thousand = (perSecond: number) => `${(perSecond / 1_000).toFixed(1)} k/s`;

function costFinding(scenario: CostScenario, { used, rejected, inconclusive }: Rounds<CostRound>): Finding {
  const of = (pick: (round: CostRound) => number) => median(used.map(pick));
  const ratios = used.map(({ subjectUs, referenceUs }) => subjectUs / referenceUs);
  const ratio = median(ratios);
  const { gate, goal } = scenario;
  const rounds = `${used.length} rounds${rejected > 0 ? `, ${rejected} rejected` : ""}`;
  const met = gate !== undefined && ratio <= gate ? "pass" : "MISS";
  return {
    measure: scenario.title,
    house: `${us(of((round) => round.subjectUs))} (gateway ${us(of((round) => round.gatewayUs))}, inference-svc ${us(of((round) => round.inferenceUs))}) at ${thousand(of((round) => round.houseRate))}`,
    pipe: `${us(of((round) => round.referenceUs))} at ${thousand(of((round) => round.pipeRate))}`,
    ratio: `median ${ratio.toFixed(2)}, min ${Math.min(...ratios).toFixed(2)} (${rounds})`,
    gate: gate === undefined ? "" : `<= ${gate.toFixed(1)}${goal === undefined ? "" : ` (goal ${goal.toFixed(1)})`}`,
    verdict: gate === undefined ? "reported" : inconclusive ? "inconclusive" : met,
  };
}

/** Absolute floor of the gate: below it a pipe that happens to be quick decides nothing. */
const firstEventFloorMs = 1;
const firstEventFactor = 4;

function firstEventFinding({ used, inconclusive }: Rounds<CostRound>): Finding {
  const direct = median(used.flatMap(({ directFirstMs }) => directFirstMs));
  const house = median(used.flatMap(({ houseFirstMs }) => houseFirstMs)) - direct;
  const pipe = median(used.flatMap(({ pipeFirstMs }) => pipeFirstMs)) - direct;
  const limit = Math.max(firstEventFloorMs, firstEventFactor * pipe);
  return {
    measure: `time to first event added to ${direct.toFixed(2)} ms without a proxy, p50, at P5`,
    house: `${house.toFixed(2)} ms`,
    pipe: `${pipe.toFixed(2)} ms`,
    ratio: (house / pipe).toFixed(1),
    gate: `<= ${limit.toFixed(2)} ms (the larger of 1 ms and 4x the pipe's)`,
    verdict: inconclusive ? "inconclusive" : house <= limit ? "pass" : "MISS",
  };
}
