/** The command line of the bench. */
import { parseArgs } from "node:util";
import type { Pace } from "./bench.ts";
import { costScenarios } from "./scenarios/cost.ts";

export type CostId = keyof typeof costScenarios;

export const behaviourIds = ["idle", "guarded", "cancel", "isolation", "slow-readers", "outage", "overload"] as const;
export type BehaviourId = (typeof behaviourIds)[number];
export type ScenarioId = CostId | BehaviourId;

export const scenarioIds: readonly ScenarioId[] = [...(Object.keys(costScenarios) as CostId[]), ...behaviourIds];

/** What is measured again ends before this, so that a full run stays below ten minutes. */
const repeatForMs = 220_000;

export interface Options {
  readonly selected: ReadonlySet<ScenarioId>;
  readonly quick: boolean;
  readonly pace: Pace;
}

const usage = `usage: npm run bench -- [--quick] [--only ${scenarioIds.join(",")}]`;

/** @throws for an unknown option or scenario, with the usage */
export function readOptions(args: readonly string[]): Options {
  const values = parse(args);
  const names = values.only?.split(",") ?? scenarioIds;
  for (const name of names) {
    if (!scenarioIds.includes(name as ScenarioId)) throw new Error(`no scenario is called ${name}\n${usage}`);
  }
  const repeatUntilMs = performance.now() + repeatForMs;
  return {
    selected: new Set(names as readonly ScenarioId[]),
    quick: values.quick,
    pace: values.quick
      ? { rounds: 2, warmUpMs: 1_000, warmUpUnits: 0, windowMs: 1_000, repeatUntilMs: 0 }
      : { rounds: 5, warmUpMs: 4_000, warmUpUnits: 12_000, windowMs: 3_000, repeatUntilMs },
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: { quick: { type: "boolean", default: false }, only: { type: "string" } },
    }).values;
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${usage}`, { cause: error });
  }
}
