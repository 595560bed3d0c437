/** One log line and one count a turn. What a client can invent is logged, never a metric label. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { type Fault, FaultReason } from "@sluice/proto/runtime/fault.js";
import { type LineLog, type Logger, lineLog, member } from "@sluice/proto/runtime/log.js";
import { Counter, Histogram, type Registry } from "@sluice/proto/runtime/metrics.js";
import { dollars } from "@sluice/proto/runtime/money.js";
import type { Span } from "@sluice/proto/runtime/tracing/span.js";
import type { Requester } from "../admission.ts";
import type { Trace } from "../turn/scope.ts";
import type { Outcome, Usage } from "../turn/turn.ts";
import { totalOf } from "../turn/usage.ts";

/** How a turn ended. */
export interface TurnEnd {
  /** Absent when it was refused before anything was begun. */
  readonly trace: Trace | undefined;
  readonly outcome: Outcome | undefined;
  readonly failure: Fault | undefined;
  /** Nobody waits for it any more. */
  readonly cancelled: boolean;
}

/** One turn, to whoever wants to hear of its end. */
export interface TurnObservation {
  /** Of whatever is asked on its behalf; absent where nobody traces. */
  readonly span?: Span;
  ended(request: RunTurnRequest, requester: Requester, end: TurnEnd): void;
}

export interface TurnObserver {
  /** Before anything else; the end is told once. */
  begin(request: RunTurnRequest, requester: Requester): TurnObservation;
}

/** completed, incomplete, cancelled, or the error_type of the failure. */
export const outcomeOf = ({ outcome, failure, cancelled }: TurnEnd): string =>
  outcome?.status ?? (cancelled ? "cancelled" : (failure?.errorType ?? "cancelled"));

export class TurnRecorder implements TurnObserver, TurnObservation {
  readonly #lines: LineLog;
  readonly #turns: Counter<"outcome">;
  readonly #guardrails: Counter<"action" | "mode">;
  readonly #aligned: Counter<"outcome">;
  readonly #toolCalls: Counter<"tool" | "outcome">;
  readonly #parts: Counter<"part" | "outcome">;
  readonly #seconds: Histogram;
  readonly #firstSeconds: Histogram;

  constructor(log: Logger, registry: Registry) {
    this.#lines = lineLog(log, "turn");
    const registers = [registry];
    this.#turns = new Counter({
      name: "sluice_turns_total",
      help: "Turns by outcome: completed, incomplete, cancelled, or the error_type of the failure.",
      labelNames: ["outcome"],
      registers,
    });
    this.#guardrails = new Counter({
      name: "sluice_guardrail_actions_total",
      help: "Stages of guardrails by action (blocked, redacted, flagged, error) and by mode: in audit nothing is done.",
      labelNames: ["action", "mode"],
      registers,
    });
    this.#aligned = new Counter({
      name: "sluice_alignment_answers_total",
      help: "Answers that the alignment plugin has evaluated: allowed, blocked or unavailable.",
      labelNames: ["outcome"],
      registers,
    });
    this.#toolCalls = new Counter({
      name: "sluice_server_tool_calls_total",
      help: "Calls of tools of the house by type and outcome: completed, failed, or refused, which were not run.",
      labelNames: ["tool", "outcome"],
      registers,
    });
    this.#parts = new Counter({
      name: "sluice_fusion_answers_total",
      help: "Answers to parts of requests for service/fusion, by part (panel, analyst) and outcome (answered, malformed, failed).",
      labelNames: ["part", "outcome"],
      registers,
    });
    this.#seconds = new Histogram({
      name: "sluice_turn_seconds",
      help: "From admission to the end of the turn.",
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800],
      registers,
    });
    this.#firstSeconds = new Histogram({
      name: "sluice_time_to_first_token_seconds",
      help: "Of streams: from admission to the first event that was given out.",
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
      registers,
    });
  }

  begin(): this {
    return this;
  }

  ended(request: RunTurnRequest, requester: Requester, end: TurnEnd): void {
    const { trace, failure } = end;
    const result = outcomeOf(end);
    const ms = trace ? Math.round(performance.now() - trace.startedAt) : 0;
    this.#turns.inc({ outcome: result });
    for (const deed of trace?.deeds() ?? []) this.#guardrails.inc(deed);
    for (const { outcome } of trace?.aligned ?? []) this.#aligned.inc({ outcome });
    for (const { kind, outcome } of trace?.allToolCalls() ?? []) this.#toolCalls.inc({ tool: kind, outcome });
    for (const note of trace?.partNotes ?? []) this.#parts.inc({ ...note });
    if (trace) this.#seconds.observe(ms / 1000);
    const firstMs = request.stream ? trace?.firstMs : undefined;
    if (firstMs !== undefined) this.#firstSeconds.observe(firstMs / 1000);
    const members = membersOf(request, requester, end, `"outcome":"${result}","ms":${ms}`);
    if (failure?.reason === FaultReason.INTERNAL && !end.cancelled) this.#lines.error(members, failure.cause);
    else this.#lines.info(members);
  }
}

/** The one line that says what a turn did and cost. */
function membersOf(request: RunTurnRequest, requester: Requester, end: TurnEnd, result: string): string {
  const { trace, outcome, failure } = end;
  return (
    `${member("request_id", requester.requestId)}${member("trace_id", requester.traceId)}` +
    `,"key_hash":"${requester.keyHash}"${member("model", request.model)},"stream":${request.stream},${result}` +
    `${member("attempts", trace?.attempts)}${usageMembers(outcome?.usage ?? trace?.usage)}` +
    (trace ? `,"policy_generation":${trace.policyGeneration}` : "") +
    (failure && !end.cancelled ? `,"status":${failure.status}` : "")
  );
}

function usageMembers(usage: Usage | undefined): string {
  if (!usage) return "";
  const { cost, ...tokens } = usage;
  return member("usage", tokens) + member("cost_usd", cost && dollars(totalOf(cost)));
}
