/** Scores the state of a task with tools: stuck, or running smoothly. */
import { callIdField, callIds } from "../../../turn/call-pairs.ts";
import type { InputItem } from "../../../turn/request.ts";
import type { PriceTier } from "./candidates.ts";
import {
  type ToolAction,
  type ToolOutcome,
  criticalSeverity,
  toolActionOf,
  hardSeverity,
  findToolOutcome,
} from "./tools.ts";

export interface Signals {
  /** Worst severity of the latest tool results: 0, 0.3, 0.7 or 1. */
  readonly severity: number;
  /** 1 after many calls without any recent write, read or plan. */
  readonly spinning: number;
  /** 1 after many reads or plans without a recent write. */
  readonly exploring: number;
  /** Share of writes among the recent calls, from 0 to 1. */
  readonly production: number;
  /** Whether the conversation was compacted. */
  readonly compacted: boolean;
  /** Whether there was a recent write and the tests pass. */
  readonly proven: boolean;
}

/** Number of the latest results that count as the current state. */
const lastResults = 3;
/** Number of the latest calls considered. */
const lastCalls = 10;
/** Number of calls without a write from which on they are a signal. */
const deep = 8;

export function signalsOf(input: readonly InputItem[]): Signals {
  const deeds = input.flatMap((item) => toolActionOf(item) ?? []);
  const results = resultsOf(input).slice(-lastResults);
  const lately = deeds.slice(-lastCalls);
  const since = deeds.slice(deeds.lastIndexOf("write") + 1);
  const looks = ({ length }: readonly ToolAction[]) => length > 0;
  const isSearching = looks(since.filter((deed) => deed === "read" || deed === "plan"));
  const isDeep = since.length >= deep;
  const severity = Math.max(0, ...results.map((result) => result.severity));
  const written = lately.filter((deed) => deed === "write").length;
  return {
    severity,
    spinning: Number(isDeep && !isSearching),
    exploring: Number(isDeep && isSearching),
    production: lately.length === 0 ? 0 : written / lately.length,
    compacted: input.some(({ type }) => type === "compaction" || type === "context_compaction"),
    proven: severity === 0 && written > 0 && results.some((result) => result.passed),
  };
}

/** Outcomes of the tool calls in order. A repeated failure is more severe each time. */
function resultsOf(input: readonly InputItem[]): readonly ToolOutcome[] {
  const calls = new Map<unknown, InputItem>();
  const failures = new Map<string, number>();
  return input.flatMap((item) => {
    if (toolActionOf(item) !== undefined) for (const id of callIds(item)) if (id !== undefined) calls.set(id, item);
    const result = findToolOutcome(item, calls.get(item[callIdField(item.type)]));
    if (result === undefined) return [];
    if (result.severity === 0) return [result];
    const times = (failures.get(result.key) ?? 0) + 1;
    failures.set(result.key, times);
    if (times < 2) return [result];
    return [{ ...result, severity: times > 2 ? criticalSeverity : Math.max(hardSeverity, result.severity) }];
  });
}

/** Minimum absolute score that decides. One full signal reaches 0.46, two reach 0.76. */
const decisive = 0.5;

export interface StageVerdict {
  /** The tier the signals favour; undefined when they are inconclusive. */
  readonly tier: PriceTier | undefined;
  /** Score from -1 to 1; above 0 favours the expensive model. */
  readonly score: number;
  /** The signal that decided alone, regardless of the score. */
  readonly by?: "critical_error" | "compaction" | "tests_pass";
}

export function stageVerdict(signals: Signals): StageVerdict {
  const { severity, spinning, exploring, production, compacted, proven } = signals;
  const score = Math.tanh(0.5 * (severity / hardSeverity + spinning + exploring - production));
  if (severity >= criticalSeverity) return { tier: "capable", score, by: "critical_error" };
  if (compacted) return { tier: "capable", score, by: "compaction" };
  if (proven) return { tier: "efficient", score, by: "tests_pass" };
  if (Math.abs(score) < decisive) return { tier: undefined, score };
  return { tier: score > 0 ? "capable" : "efficient", score };
}
