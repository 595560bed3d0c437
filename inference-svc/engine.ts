/** Runs turns for both doors: resolves the policy, checks the request, drives the stack and accounts for the outcome. */
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { ByteBudget } from "@sluice/proto/runtime/byte-budget.js";
import type { Access } from "@sluice/proto/runtime/access.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { type Registry, gauge } from "@sluice/proto/runtime/metrics.js";
import { type Requester, admit, overloaded } from "./admission.ts";
import { type EndUserParts, checkEndUser } from "./end-users.ts";
import type { TurnObserver } from "./observe/turns.ts";
import { requestedSlug, serviceMetadata } from "./routing/service-metadata.ts";
import { OpenKeys } from "./open-keys.ts";
import type { TurnRequest } from "./turn/request.ts";
import type { Trace } from "./turn/scope.ts";
import type { Cancellable } from "./turn/signal.ts";
import { type Batch, type Outcome, type Turn, type TurnEvent, commits } from "./turn/turn.ts";
import { type TurnSink, toWire, usageBatch } from "./wire.ts";

/** What a process holds open in less than a gibibyte: 66 KiB each were measured, without what they say. */
const mostOpen = 10_000;

export interface EngineParts extends EndUserParts {
  readonly access: Access;
  readonly budget: ByteBudget;
  readonly turn: Turn;
  readonly observer: TurnObserver;
  readonly registry: Registry;
  readonly region: string;
  /** @throws Fault INVALID_REQUEST */
  readonly parse: (request: RunTurnRequest, requester: Requester) => TurnRequest;
}

export class Engine {
  readonly #parts: EngineParts;
  readonly #openKeys: OpenKeys;
  #open = 0;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#openKeys = new OpenKeys(parts.access);
    gauge(parts.registry, "sluice_open_turns", "Turns that are open in this process.", () => this.#open);
  }

  /** This process has no time left for those that are open. */
  endTurns(): void {
    this.#openKeys.endAll(
      new Fault(FaultReason.UNAVAILABLE, "", { retryAfterMs: 1_000, origin: FaultOrigin.INFERENCE }),
    );
  }

  /**
   * One turn, as batches for the wire. Settles at its end, or once it is cancelled, which stops its upstream.
   * @throws Fault, with service_metadata when it was asked for
   */
  async run(request: RunTurnRequest, requester: Requester, running: Cancellable, sink: TurnSink): Promise<void> {
    const { signal } = running;
    const { keyHash, policyGeneration } = requester;
    const room = this.#parts.budget.open(keyHash);
    let leave = () => {};
    let trace: Trace | undefined;
    let outcome: Outcome | undefined;
    let failure: Fault | undefined;
    this.#open++;
    const observation = this.#parts.observer.begin(request, requester);
    try {
      if (this.#open > mostOpen) throw overloaded();
      const waiting = room.grow(memoryOf(request));
      if (waiting) await waiting;
      const turnRequest = this.#parts.parse(request, requester);
      const resolved = this.#parts.access.resolve(keyHash, policyGeneration, observation.span);
      // Nearly always known: then nobody waits for it.
      const known = resolved instanceof Promise ? await resolved : resolved;
      const scope = admit(known, requester, request, signal, observation.span);
      trace = scope.trace;
      const checking = checkEndUser(this.#parts, scope.caller, scope.user, policyGeneration);
      if (checking) await checking;
      leave = this.#openKeys.enter(scope.caller, running);
      sink.accepted();
      const metadata = () => this.#metadata(request, scope.trace);
      for await (const said of await this.#parts.turn(turnRequest, scope)) {
        const batch = withTotal(said, scope.trace);
        const last = batch.at(-1);
        if (last?.type === "end") outcome = last.outcome;
        if (scope.trace.firstMs === undefined && batch.some(commits)) scope.trace.given();
        const room = sink.take(toWire(batch, metadata), last?.type === "end");
        if (room) await room;
        if (signal.aborted && signal.reason instanceof Fault) throw signal.reason;
        if (signal.aborted) return;
      }
      if (!outcome) throw new Fault(FaultReason.PROVIDER_FAILED, "Provider connection lost");
    } catch (error) {
      failure = Fault.from(signal.reason instanceof Fault ? signal.reason : error);
      trace?.lost(failure.attemptStatus);
      const isTold = trace?.firstMs !== undefined || trace?.aligned !== undefined;
      const usage = isTold ? trace?.usage : undefined;
      if (usage) void sink.take(usageBatch(usage), false);
      if (trace && failure.reason !== FaultReason.INTERNAL && request.serviceMetadata) {
        failure = failure.with({ serviceMetadataJson: this.#metadata(request, trace) });
      }
      throw failure;
    } finally {
      room.release();
      leave();
      this.#open--;
      // Whoever aborts with a fault says why; without one the client has left.
      const cancelled = signal.aborted && !(signal.reason instanceof Fault);
      observation.ended(request, requester, { trace, outcome, failure, cancelled });
    }
  }

  #metadata(request: RunTurnRequest, trace: Trace): Uint8Array {
    if (!request.serviceMetadata) return new Uint8Array();
    const { unknownFields } = request;
    const parts = { requested: requestedSlug(request), region: this.#parts.region, unknownFields };
    return Buffer.from(JSON.stringify(serviceMetadata(trace, parts)));
  }
}

/** A request is held as bytes and as text, parsed, and as text and bytes again for its provider; text may take two bytes a character. */
const copiesHeld = 8;

/** Memory that a turn takes for what it is asked. */
export const memoryOf = ({ inputJson, toolsJson, instructions }: RunTurnRequest): number =>
  copiesHeld * (inputJson.length + toolsJson.length + (instructions?.length ?? 0));

/** An end speaks of one attempt; a turn may have taken several. */
function withTotal(batch: Batch, trace: Trace): Batch {
  const last = batch.at(-1);
  const several = trace.bills.length > 1 || trace.parts.length > 0 || trace.toolCalls !== undefined;
  const usage = last?.type === "end" && several ? trace.usage : undefined;
  return last?.type === "end" && usage ? [...batch.slice(0, -1), endOf({ ...last.outcome, usage })] : batch;
}

const endOf = (outcome: Outcome): TurnEvent => ({ type: "end", outcome });
