/** Measures the cost of 50 output patterns: requests and streams of a key under a guardrail against those of a key without one. */
import type { Bench, ResultRow } from "../bench.ts";
import { guardedTarget } from "../guardrail.ts";
import { type VariantScenario, measureVariants } from "./variants.ts";

const scenarios: readonly VariantScenario[] = [
  {
    title: "guarded: 50 patterns over the output, 1 KB request, 0.7 KB answer, 32 connections",
    script: { kind: "json" },
    connections: 32,
    spreadMs: 100,
    gates: { guarded: 1.2 },
  },
  {
    title: "guarded: 50 patterns over the output, 50 streams x 1 event / 10 ms, per event",
    script: { kind: "paced", deltas: 150, gapMs: 10 },
    connections: 50,
    spreadMs: 1_050,
    gates: { guarded: 1.2 },
  },
  {
    title: "guarded: the same, streams of 200 events in one write, 16 connections",
    script: { kind: "burst", deltas: 200 },
    connections: 16,
    spreadMs: 100,
    gates: {},
    goal: 3,
  },
];

export const guardedScripts = scenarios.map(({ script }) => script);

export const measureGuarded = (bench: Bench): Promise<readonly ResultRow[]> =>
  measureVariants(bench, scenarios, async ({ target, managementKey }) => [
    { name: "unguarded", target },
    { name: "guarded", target: await guardedTarget(target, managementKey) },
  ]);
