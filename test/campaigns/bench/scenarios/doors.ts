/** Measures the cost of other formats: the same request and answer at /chat/completions and /messages, compared with /responses. */
import type { Bench, ResultRow } from "../bench.ts";
import { type VariantScenario, measureVariants } from "./variants.ts";

const gates = { chat: 1.1, messages: 1.15 };

const scenarios: readonly VariantScenario[] = [
  {
    title: "doors: 1 KB request, 0.7 KB answer, 32 connections",
    script: { kind: "json" },
    connections: 32,
    spreadMs: 100,
    gates,
  },
  {
    title: "doors: 20 KB request, 28 items, 6 tools, 0.7 KB answer, 32 connections",
    script: { kind: "json" },
    connections: 32,
    spreadMs: 100,
    form: { long: true },
    gates,
  },
  {
    title: "doors: 50 streams x 1 event / 10 ms, per event",
    script: { kind: "paced", deltas: 150, gapMs: 10 },
    connections: 50,
    spreadMs: 1_050,
    gates,
  },
  {
    title: "doors: streams of 200 events in one write, 16 connections, per event",
    script: { kind: "burst", deltas: 200 },
    connections: 16,
    spreadMs: 100,
    gates: {},
  },
];

export const measureDoors = (bench: Bench): Promise<readonly ResultRow[]> =>
  measureVariants(bench, scenarios, ({ target }) =>
    Promise.resolve([
      { name: "responses", target },
      { name: "chat", target: { ...target, format: "chat" } },
      { name: "messages", target: { ...target, format: "messages" } },
    ]),
  );
