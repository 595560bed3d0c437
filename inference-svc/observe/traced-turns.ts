/** A span for each turn, around what is noted of it anyway. No text of a prompt or an answer is in it. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Span, Tracing } from "@sluice/proto/runtime/tracing/span.js";
import { dollars } from "@sluice/proto/runtime/money.js";
import type { Requester } from "../admission.ts";
import { totalOf } from "../turn/usage.ts";
import { tellTrace } from "./request-trace.ts";
import { type TurnEnd, type TurnObservation, type TurnObserver, outcomeOf } from "./turns.ts";

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
    return {
      span,
      ended(_, __, end) {
        inner.ended(request, { ...requester, traceId: span.traceId }, end);
        // Checked by then.
        if (end.trace) tellTrace(span, request.traceJson);
        tellEnd(span, end);
        span.end();
      },
    };
  }
}

/** Tokens are told by the spans of the calls: whoever adds up would count them twice. */
function tellEnd(span: Span, end: TurnEnd): void {
  const { trace, outcome, failure, cancelled } = end;
  const cost = (outcome?.usage ?? trace?.usage)?.cost;
  const served = trace?.selected === undefined ? undefined : trace.candidates[trace.selected]?.model;
  const result = outcomeOf(end);
  span.set({
    "sluice.outcome": result,
    "sluice.served_model": served,
    "sluice.attempts": trace?.attempts.length,
    "sluice.policy_generation": trace && Number(trace.policyGeneration),
    "sluice.cost_usd": cost && dollars(totalOf(cost)),
    "sluice.time_to_first_token": trace?.firstMs === undefined ? undefined : trace.firstMs / 1_000,
  });
  // What the caller did wrong is no failure of the house.
  if (failure && !cancelled && failure.status >= 500) span.fail(result);
}
