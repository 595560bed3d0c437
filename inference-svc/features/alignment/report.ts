/** The report of an alignment evaluation, for the client and for the receipt. */
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import { toDollars } from "@sluice/proto/lib/ledger/money.js";
import { type ModeWord, modes } from "@sluice/proto/lib/policy/guardrail-words.js";
import type { AlignedCall, AlignmentReport, Evaluation } from "../../turn/alignment.ts";
import type { Stage, Trace } from "../../turn/trace.ts";
import type { OutputItem } from "../../turn/turn.ts";

/** Records the evaluation as the turn's next call. */
export function recordEvaluation(trace: Trace, evaluation: Evaluation): void {
  trace.aligned.push({ call: trace.aligned.length + 1, ...evaluation });
}

export const toAlignmentReport = ({ aligned }: Trace): AlignmentReport => ({ calls: [...aligned] });

/** @returns indices of the broken rules */
export const brokenRules = (evaluation: Evaluation): readonly number[] =>
  evaluation.outcome === "unavailable" ? [] : evaluation.rules.flatMap(({ broken }, index) => (broken ? [index] : []));

const listed = (indices: readonly number[]): string =>
  indices.length === 1 ? `rule ${indices[0]}` : `rules ${indices.join(", ")}`;

/** Clients should not retry: a withheld answer was billed, and a retry would cost again. */
const isBilled = { shouldRetry: false } as const;

/** @param withheld items of the last answer, which was not delivered */
export const alignmentBlockedFault = (trace: Trace, evaluation: Evaluation, withheld: readonly OutputItem[]): Fault =>
  new Fault(FaultReason.ALIGNMENT_BLOCKED, `Alignment plugin: the reply broke ${listed(brokenRules(evaluation))}`, {
    origin: FaultOrigin.CLIENT,
    metadata: {
      alignment: { ...toAlignmentReport(trace), rejected: withheld.filter(({ type }) => type !== "reasoning") },
    },
    ...isBilled,
  });

const why: Readonly<Record<(Evaluation & { outcome: "unavailable" })["reason"], string>> = {
  cut: "it is longer than what is evaluated",
  evaluator_error: "the evaluator failed",
  malformed_answer: "the evaluator gave no verdict",
  time_limit: "the evaluator took too long",
};

export const unevaluatedFault = (trace: Trace, { reason }: Evaluation & { outcome: "unavailable" }): Fault =>
  new Fault(FaultReason.UNAVAILABLE, `Alignment plugin: the reply could not be evaluated: ${why[reason]}`, {
    origin: FaultOrigin.INFERENCE,
    metadata: { error_type: "provider_unavailable", alignment: toAlignmentReport(trace) },
    ...isBilled,
  });

export interface Evaluated {
  readonly mode: ModeWord;
  /** Indices of the rules evaluated without a judge. */
  readonly localRules: readonly number[];
  readonly rules: number;
  /** Names of the evaluating engines, with `judge:<model>` if the judge may be called. */
  readonly engines: readonly string[];
  readonly calibration: string | undefined;
  readonly costPico: bigint | undefined;
  readonly spentMs: number;
}

/** @param calls evaluations of this message, in order; the last one decides. Empty in a dry run */
export function buildAlignmentStage(calls: readonly AlignedCall[], evaluated: Evaluated): Stage {
  const { mode, engines, rules, localRules, calibration, costPico, spentMs } = evaluated;
  const last = calls.at(-1);
  return {
    type: "plugin",
    name: "alignment",
    summary: summaryOf(calls, evaluated),
    ...(last && { cost_usd: costPico === undefined ? null : toDollars(costPico) }),
    data: {
      action: last === undefined ? "not_run" : actions[last.outcome],
      detected: calls.some((call) => brokenRules(call).length > 0),
      engines,
      mode,
      rules,
      local_rules: localRules,
      ...(calibration !== undefined && { calibration }),
      ...(last && { calls: calls.length, latency_ms: Math.round(spentMs) }),
    },
  };
}

const actions = { allowed: "allowed", blocked: "blocked", unavailable: "error" } as const;

function summaryOf(calls: readonly AlignedCall[], { mode, rules, localRules }: Evaluated): string {
  const last = calls.at(-1);
  if (last === undefined) {
    return `Not evaluated: a dry run asks no model. ${rules} rules, ${localRules.length} of them decided without a judge`;
  }
  const tries = calls.length === 1 ? "" : ` after ${calls.length} calls`;
  if (last.outcome === "unavailable") return `Error${tries}: ${why[last.reason]}`;
  if (last.outcome === "allowed") return `Allowed${tries}`;
  const what = listed(brokenRules(last));
  return modes.of(mode).acts ? `Blocked${tries}: ${what}` : `Would have blocked${tries}: ${what}`;
}
