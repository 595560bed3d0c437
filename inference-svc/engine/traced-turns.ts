/** Opens a span for each turn, without any text of prompts or answers. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Span, Tracing, Attributes } from "@sluice/proto/lib/tracing/span.js";
import { toDollars } from "@sluice/proto/lib/ledger/money.js";
import type { Requester } from "../turn/requester.ts";
import { totalCost } from "../turn/usage.ts";
import { type TurnEnd, type TurnObservation, type TurnObserver, describeOutcome } from "./turn-recorder.ts";
import { traceparentOf } from "@sluice/proto/lib/tracing/context.js";

export class TracedTurns implements TurnObserver {
  readonly #observer: TurnObserver;
  readonly #tracing: Tracing;

  constructor(observer: TurnObserver, tracing: Tracing) {
    this.#observer = observer;
    this.#tracing = tracing;
  }

  begin(request: RunTurnRequest, requester: Requester): TurnObservation {
    const inner = this.#observer.begin(request, requester);
    const span = this.#tracing.start("turn", {
      kind: "server",
      parent: requester.trace,
      attributes: {
        "sluice.request_id": requester.requestId,
        "sluice.generation_id": requester.generationId,
        "sluice.key_hash": requester.keyHash,
        "sluice.model": request.model || request.models[0],
        "sluice.stream": request.stream,
      },
    });
    const traced = { ...requester, traceId: span.traceId };
    return {
      span,
      answered: (_, __, end) => inner.answered(request, traced, end),
      ended(_, __, end) {
        inner.ended(request, traced, end);
        // The JSON of `trace` was checked when the request was parsed.
        if (end.trace) setRequestTrace(span, request.traceJson);
        setEnd(span, end);
        span.end();
      },
    };
  }
}

/** Describes the end of a turn. Token counts are in the spans of the calls: a sum over all spans would count them twice. */
function setEnd(span: Span, end: TurnEnd): void {
  const { trace, outcome, failure, cancelled } = end;
  const cost = (outcome?.usage ?? trace?.usage)?.cost;
  const served = trace?.selected === undefined ? undefined : trace.candidates[trace.selected]?.model;
  const result = describeOutcome(end);
  span.set({
    "sluice.outcome": result,
    "sluice.served_model": served,
    "sluice.attempts": trace?.attempts.length,
    "sluice.policy_generation": trace && Number(trace.policyGeneration),
    "sluice.cost_usd": cost && toDollars(totalCost(cost)),
    "sluice.time_to_first_token": trace?.firstMs === undefined ? undefined : trace.firstMs / 1_000,
  });
  // A client error is not a failure of the service.
  if (failure && !cancelled && failure.status >= 500) span.fail(result);
}

/** Maximum members of `trace` that are set; the rest is left out. */
const maxMembers = 32;

/**
 * Sets each member of the request's `trace` as an attribute `sluice.trace.<name>`; objects become JSON. The members
 * `trace_id` and `parent_span_id` add a link to that W3C trace; the span's parent comes from the header.
 */
export function setRequestTrace(span: Span, json: Uint8Array): void {
  if (json.length === 0) return;
  const trace = JSON.parse(Buffer.from(json).toString("utf8")) as Record<string, unknown>;
  span.set(attributesOf(trace));
  const { trace_id: traceId, parent_span_id: spanId } = trace;
  if (typeof traceId !== "string" || typeof spanId !== "string") return;
  span.link({ traceparent: traceparentOf({ traceId, spanId, sampled: true }), tracestate: "" });
}

const attributesOf = (trace: Record<string, unknown>): Attributes =>
  Object.fromEntries(
    Object.entries(trace)
      .slice(0, maxMembers)
      .map(([name, value]) => [`sluice.trace.${name.slice(0, 64)}`, scalarOf(value)]),
  );

const scalarOf = (value: unknown): string | number | boolean =>
  typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : JSON.stringify(value);
