/** Writes one log line and counts metrics for each turn. Values controlled by clients are logged, but never become a metric label. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { type Fault, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { LineLog, Logger } from "@sluice/proto/lib/log/log.js";
import { logMember, quoted } from "@sluice/proto/lib/log/text.js";
import { Counter, Histogram, type Registry } from "@sluice/proto/lib/metrics/metrics.js";
import { toDollars } from "@sluice/proto/lib/ledger/money.js";
import type { Span } from "@sluice/proto/lib/tracing/span.js";
import { doorWord } from "@sluice/proto/lib/turns/turn-facts.js";
import type { Requester } from "../turn/requester.ts";
import type { Attempt, Trace } from "../turn/trace.ts";
import type { Outcome } from "../turn/turn.ts";
import { type Usage, totalCost } from "../turn/usage.ts";

/** The end of a turn. */
export interface TurnEnd {
  /** The key with its policy; absent when the turn was refused before the key was looked up. */
  readonly caller: Caller | undefined;
  /** Receipt of the turn; absent when it was refused before it began. */
  readonly trace: Trace | undefined;
  readonly outcome: Outcome | undefined;
  readonly failure: Fault | undefined;
  /** Whether the client has left. */
  readonly cancelled: boolean;
}

/** Receives what happens to one turn. */
export interface TurnObservation {
  /** Parent span for calls on behalf of the turn; absent when tracing is off. */
  readonly span?: Span;
  /** Called at the end of an answer, before the client receives it. */
  answered(request: RunTurnRequest, requester: Requester, end: TurnEnd): void;
  ended(request: RunTurnRequest, requester: Requester, end: TurnEnd): void;
}

export interface TurnObserver {
  /** Called before the turn begins; its end is reported once. */
  begin(request: RunTurnRequest, requester: Requester): TurnObservation;
}

/** The outcome of a turn for logs and metrics: completed, incomplete, cancelled, or the error_type of the failure. */
export const describeOutcome = ({ outcome, failure, cancelled }: TurnEnd): string =>
  outcome?.status ?? (cancelled ? "cancelled" : (failure?.errorType ?? "cancelled"));

/** Writes the log line and the metrics of each turn, at its end. */
export class TurnRecorder implements Pick<TurnObservation, "ended"> {
  readonly #lines: LineLog;
  readonly #turns: Counter<"outcome" | "door">;
  readonly #guardrails: Counter<"action" | "mode">;
  readonly #aligned: Counter<"outcome">;
  readonly #toolCalls: Counter<"tool" | "outcome">;
  readonly #parts: Counter<"part" | "outcome">;
  readonly #seconds: Histogram;
  readonly #firstSeconds: Histogram;

  constructor(log: Logger, registry: Registry) {
    this.#lines = log.lines("turn");
    const registers = [registry];
    this.#turns = new Counter({
      name: "sluice_turns_total",
      help: "Turns by the format of the client, and by outcome: completed, incomplete, cancelled, or the error_type of the failure.",
      labelNames: ["outcome", "door"],
      registers,
    });
    this.#guardrails = new Counter({
      name: "sluice_guardrail_actions_total",
      help: "Actions of guardrails (blocked, redacted, flagged, error) by mode: in audit they are only reported.",
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
      help: "Calls of Sluice's own tools by type and outcome: completed, failed, or refused, which were not run.",
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
      help: "Seconds from admission to the end of the turn.",
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1800],
      registers,
    });
    this.#firstSeconds = new Histogram({
      name: "sluice_time_to_first_token_seconds",
      help: "Seconds from admission to the first event that a stream gave out.",
      buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
      registers,
    });
  }

  ended(request: RunTurnRequest, requester: Requester, end: TurnEnd): void {
    const { trace, failure } = end;
    const result = describeOutcome(end);
    const ms = trace ? Math.round(performance.now() - trace.startedAt) : 0;
    this.#turns.labels({ outcome: result, door: doorWord(request.door) }).inc();
    if (trace) {
      this.#seconds.observe(ms / 1000);
      if (trace.stages.length > 0) for (const action of trace.guardrailActions()) this.#guardrails.labels(action).inc();
      for (const answer of trace.aligned) this.#aligned.labels(answer).inc();
      for (const { kind, outcome } of trace.allToolCalls()) this.#toolCalls.labels({ tool: kind, outcome }).inc();
      for (const note of trace.partNotes) this.#parts.labels(note).inc();
    }
    const firstMs = request.stream ? trace?.firstMs : undefined;
    if (firstMs !== undefined) this.#firstSeconds.observe(firstMs / 1000);
    const members = turnMembers(request, requester, end, `"outcome":"${result}","ms":${ms}`);
    if (failure?.reason === FaultReason.INTERNAL && !end.cancelled) this.#lines.error(members, failure.cause);
    else this.#lines.info(members);
  }
}

/** Members of the log line about a turn's work and cost. */
function turnMembers(request: RunTurnRequest, requester: Requester, end: TurnEnd, result: string): string {
  const { trace, outcome, failure } = end;
  return (
    `${logMember("request_id", requester.requestId)}${logMember("trace_id", requester.traceId)}` +
    `,"key_hash":"${requester.keyHash}"${logMember("model", request.model)},"door":"${doorWord(request.door)}","stream":${request.stream},${result}` +
    (trace ? attemptsMember(trace.attempts) : "") +
    usageMembers(outcome?.usage ?? trace?.usage) +
    (trace ? `,"policy_generation":${trace.policyGeneration}` : "") +
    (failure && !end.cancelled ? `,"status":${failure.status}${budgetMember(failure)}` : "")
  );
}

/**
 * Member of the log line for the budget that refused the turn: the key's, the workspace's or a guardrail's. The reason
 * may be amounts reserved for other calls.
 */
const budgetMember = ({ reason, metadata }: Fault): string =>
  reason === FaultReason.PAYMENT_REQUIRED || reason === FaultReason.BUDGET_HELD
    ? logMember("budget", metadata?.["budget"])
    : "";

function attemptsMember(attempts: readonly Attempt[]): string {
  let all = "";
  for (const { provider, model, status, error } of attempts) {
    all += `${all === "" ? "" : ","}{"provider":${quoted(provider)},"model":${quoted(model)},"status":${status}`;
    all += error === undefined ? "}" : `,"error":"${error}"}`;
  }
  return `,"attempts":[${all}]`;
}

function usageMembers(usage: Usage | undefined): string {
  if (usage === undefined) return "";
  const { cacheWriteHourTokens: hour, serverToolUse: tools, cost } = usage;
  return (
    `,"usage":{"inputTokens":${usage.inputTokens},"cachedTokens":${usage.cachedTokens}` +
    `,"cacheWriteTokens":${usage.cacheWriteTokens}${hour === undefined ? "" : `,"cacheWriteHourTokens":${hour}`}` +
    `,"outputTokens":${usage.outputTokens},"reasoningTokens":${usage.reasoningTokens}` +
    (tools === undefined ? "" : `,"serverToolUse":${JSON.stringify(tools)}`) +
    `${usage.estimated ? ',"estimated":true' : ""}}` +
    (cost === undefined ? "" : `,"cost_usd":${toDollars(totalCost(cost))}`)
  );
}
