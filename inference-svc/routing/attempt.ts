/** One attempt: asks one endpoint once, and notes what came of it. */
import { Fault } from "@sluice/proto/runtime/fault.js";
import type { Unanswered } from "@sluice/proto/contract/unanswered.js";
import type { TurnRequest } from "../turn/request.ts";
import type { Scope } from "../turn/scope.ts";
import { unansweredCause } from "../turn/unanswered.ts";
import type { Batch, Turn } from "../turn/turn.ts";
import { isBudgets, isEndpoints, isOurs } from "./blame.ts";
import { collected, withStart } from "./collect.ts";
import type { WatchedAttempt } from "./ejection.ts";
import type { EndpointRecords } from "./endpoint-record.ts";
import { measured } from "./measured.ts";
import { fitted } from "./needs.ts";
import type { Step } from "./walk.ts";

export interface Attempting {
  readonly turn: Turn;
  readonly records: EndpointRecords;
  /** There are others: its speed decides about its place among them. */
  readonly measure: boolean;
}

/** Settles as a turn does. @throws what the endpoint failed with */
export async function attempt(
  { endpoint, follows }: Step,
  { turn, records, measure }: Attempting,
  request: TurnRequest,
  scope: Scope,
): Promise<AsyncIterable<Batch>> {
  const { trace } = scope;
  const { now } = records;
  const record = records.of(endpoint);
  const startedAt = now();
  if (follows === "nothing") record.budget.request(startedAt);
  const repeated = follows === "failure" ? record.budget.begin(record.ejection.failing) : undefined;
  const watched = record.ejection.begin(startedAt);
  const note = (status: number, error?: Unanswered) =>
    trace.attempts.push({
      provider: endpoint.providerName,
      model: endpoint.model,
      status,
      ...(error !== undefined && { error }),
    });
  trace.losses = [];
  const billed = trace.bills.length;
  try {
    const batches = await turn(fitted(request, endpoint, trace.losses), scope);
    const answer = request.stream
      ? withStart(endpoint.model, trace.bodies, streamed(batches, watched))
      : await collected(endpoint.model, batches);
    if (!request.stream) ended(watched);
    repeated?.(false, now());
    note(200);
    return answer;
  } catch (error) {
    const fault = Fault.from(error);
    const failed = !scope.signal.aborted && isEndpoints(fault);
    watched.end(failed ? "failed" : "neither", now());
    repeated?.(failed, now());
    // The budget and the ledger are asked before the provider is.
    if (trace.bills.length > billed || !(isBudgets(fault) || isOurs(fault)))
      note(fault.attemptStatus, unansweredCause(fault));
    throw error;
  }

  function streamed(batches: AsyncIterable<Batch>, watched: WatchedAttempt): AsyncIterable<Batch> {
    if (measure) {
      watched.committed(now());
      return measured(batches, watched, record, records, scope);
    }
    ended(watched);
    return batches;
  }

  function ended(watched: WatchedAttempt): void {
    watched.committed(now());
    watched.end("well", now());
  }
}
