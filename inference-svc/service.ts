/** The doors: RunTurn for anybody with a key, Session for our own gateways, DryRun and lists for both. One engine behind them. */
import type { ServiceToken } from "@sluice/proto/runtime/rpc/service-token.js";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, type ConnectRouter, type HandlerContext } from "@connectrpc/connect";
import {
  type DryRunRequest,
  DryRunResponseSchema,
  InferenceService,
  RunTurnResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import type { Open, SessionRequest, SessionResponse } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import { type RunTurnRequest, RunTurnRequestSchema } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { Access } from "@sluice/proto/runtime/access.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import {
  callerKeyHash,
  isServiceToken,
  parseBearer,
  requireServiceToken,
  generationIdHeader,
  requestIdIn,
  serviceTokenHeader,
} from "@sluice/proto/runtime/rpc/caller.js";
import type { Logger } from "@sluice/proto/runtime/log.js";
import { newId } from "@sluice/proto/runtime/id.js";
import { strangeIn } from "@sluice/proto/runtime/rpc/knowledge.js";
import type { Limiter } from "@sluice/proto/runtime/limits/limiter.js";
import { TokenMeter } from "@sluice/proto/runtime/limits/meter.js";
import { untraced } from "@sluice/proto/runtime/tracing/context.js";
import { currentSpan, headersOf } from "@sluice/proto/runtime/tracing/rpc.js";
import type { Pressure } from "@sluice/proto/runtime/pressure.js";
import { packed } from "@sluice/proto/runtime/session/encode.js";
import { Problems } from "@sluice/proto/runtime/validation/problems.js";
import { checkScalars } from "@sluice/proto/contract/scalars.js";
import { overloaded } from "./admission.ts";
import type { Engine } from "./engine.ts";
import { Handover } from "./handover.ts";
import { type LaneTurn, ServerLane } from "./lane.ts";
import { admitDirectly } from "./limits.ts";
import { lists } from "./lists.ts";
import type { Rehearsals } from "./rehearsal.ts";
import type { EndpointRecords } from "./routing/endpoint-record.ts";
import type { Serving } from "./serving.ts";

export interface ServiceParts {
  readonly engine: Engine;
  readonly rehearsals: Rehearsals;
  readonly access: Access;
  readonly limiter: Limiter;
  readonly pressure: Pick<Pressure, "refuses">;
  readonly serving: Serving;
  readonly records: EndpointRecords;
  readonly token: ServiceToken;
  readonly log: Pick<Logger, "error">;
  /** Name of this process, for the greeting. */
  readonly instance: string;
}

/** Aborting without a reason builds a DOMException with a stack each time. */
const over = new Error("turn over");
const timeUp = () => new Fault(FaultReason.DEADLINE_EXCEEDED, "", { origin: FaultOrigin.INFERENCE });

export class InferenceDoors {
  readonly #parts: ServiceParts;
  readonly #lanes = new Set<ServerLane>();
  #draining = false;

  constructor(parts: ServiceParts) {
    this.#parts = parts;
  }

  readonly routes = (router: ConnectRouter): void => {
    router.service(InferenceService, {
      runTurn: (request, context) => this.#runTurn(request, context),
      dryRun: (request, context) => this.#dryRun(request, context),
      session: (requests, context) => this.#session(requests, context),
      ...lists(this.#parts),
    });
  };

  /** Clients open nothing new on their sessions, and end them when the last turn is over. */
  drain(): void {
    this.#draining = true;
    for (const lane of this.#lanes) lane.drain();
  }

  async *#runTurn(request: RunTurnRequest, context: HandlerContext) {
    // Gateways see by themselves how many of their turns wait, and refuse before they hand over.
    if (this.#parts.pressure.refuses()) throw overloaded();
    const { keyHash } = parseBearer(context.requestHeader.get("authorization"));
    const problems = new Problems();
    checkScalars(request, problems);
    const strange = strangeIn(RunTurnRequestSchema, request);
    if (strange !== undefined) problems.add(strange, "a field that this build does not know");
    problems.throwIfAny();
    const admission = await admitDirectly(this.#parts, keyHash, context.responseHeader);
    const meter = admission.countsTokens ? new TokenMeter(request) : undefined;
    const abort = new AbortController();
    const limitMs = Math.min(context.timeoutMs() ?? Number.POSITIVE_INFINITY, this.#limitMs(request));
    const timer = setTimeout(() => abort.abort(timeUp()), limitMs);
    const requestId = requestIdIn(context.requestHeader) ?? newId("req_");
    const generationId = newId("gen-");
    context.responseHeader.set(generationIdHeader, generationId);
    const deadline = performance.now() + limitMs;
    const policyGeneration = this.#parts.access.generation;
    const trace = headersOf(context.requestHeader);
    const requester = { keyHash, requestId, generationId, policyGeneration, deadline, trace, scanned: false };
    const handover = new Handover();
    let left = false;
    const gone = () => {
      left = true;
      clearTimeout(timer);
      abort.abort(context.signal.reason);
      // The adapter may wait for ever for room on a socket that is closed, and never ask for the next batch: then nothing else ends the turn.
      handover.end();
    };
    // A deadline may have passed before: a signal that is aborted tells nobody any more.
    if (context.signal.aborted) abort.abort(context.signal.reason);
    else context.signal.addEventListener("abort", gone);
    const running = { signal: abort.signal, cancel: (reason: unknown) => abort.abort(reason) };
    const run = this.#parts.engine.run(request, requester, running, handover);
    // Awaited below, when what it gave has been passed on.
    run.catch(() => {}).finally(() => handover.end());
    try {
      for await (const { events } of handover) {
        meter?.note(events);
        yield create(RunTurnResponseSchema, { events });
      }
      if (left) throw abort.signal.reason;
      await run;
    } catch (error) {
      // The engine's own fault explains itself; anything else happened because the time was up.
      throw abort.signal.reason instanceof Fault && !(error instanceof Fault) ? abort.signal.reason : error;
    } finally {
      clearTimeout(timer);
      context.signal.removeEventListener("abort", gone);
      abort.abort(over);
      handover.end();
      admission.leave(meter?.tokens(left));
    }
  }

  async *#session(requests: AsyncIterable<SessionRequest>, context: HandlerContext): AsyncGenerator<SessionResponse> {
    requireServiceToken(context.requestHeader, this.#parts.token);
    const queue: SessionResponse[] = [];
    let wake = () => {};
    let open = true;
    const lane = new ServerLane(
      this.#parts.instance,
      this.#draining,
      (message) => {
        queue.push(message);
        wake();
        return queue.length < 2;
      },
      (opened, turn) => this.#laneTurn(opened, turn),
    );
    this.#lanes.add(lane);
    const stop = () => {
      open = false;
      this.#lanes.delete(lane);
      lane.close();
      wake();
    };
    const unsayable = (turn: number, cause: unknown) => {
      this.#parts.log.error({ err: cause }, "a turn has failed: the contract has no room for what it says");
      lane.unsayable(turn);
    };
    void receive(lane, requests)
      .catch(() => {})
      .finally(stop);
    context.signal.addEventListener("abort", stop);
    try {
      for (;;) {
        for (let message = queue.shift(); message; message = queue.shift()) {
          yield packed(message, unsayable);
          lane.outbox.drained();
        }
        if (!open) return;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    } finally {
      stop();
    }
  }

  async #laneTurn(open: Open, turn: LaneTurn): Promise<void> {
    const { request, keyHash, requestId, generationId, policyGeneration } = open;
    if (!request) return turn.fail(new Fault(FaultReason.INTERNAL).toMessage());
    const limitMs = open.deadlineMs > 0 ? open.deadlineMs : this.#limitMs(request);
    const timer = setTimeout(() => turn.cancel(timeUp()), limitMs);
    try {
      const deadline = performance.now() + limitMs;
      const requester = { keyHash, requestId, generationId, policyGeneration, deadline, trace: open, scanned: true };
      await this.#parts.engine.run(request, requester, turn, turn);
    } catch (error) {
      turn.fail(Fault.from(error).toMessage());
      // A turn that came to its end has nothing left that hangs on its signal.
      turn.cancel(over);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The gateway has checked the scalars and scanned the texts; nobody else is trusted to have. */
  async #dryRun({ request, policyGeneration }: DryRunRequest, context: HandlerContext) {
    const { access, rehearsals, token } = this.#parts;
    const { requestHeader } = context;
    const keyHash = callerKeyHash(requestHeader, token);
    const scanned = isServiceToken(requestHeader.get(serviceTokenHeader), token);
    const turn = request ?? create(RunTurnRequestSchema);
    const problems = new Problems();
    if (!scanned) checkScalars(turn, problems);
    problems.throwIfAny();
    const admission = scanned ? undefined : await admitDirectly(this.#parts, keyHash, context.responseHeader);
    try {
      const receiptJson = await rehearsals.run(turn, {
        keyHash,
        requestId: requestIdIn(requestHeader) ?? newId("req_"),
        trace: currentSpan() ?? untraced,
        generationId: newId("gen-"),
        policyGeneration: scanned ? policyGeneration : access.generation,
        scanned,
        deadline: Number.POSITIVE_INFINITY,
      });
      return create(DryRunResponseSchema, { receiptJson });
    } finally {
      admission?.leave();
    }
  }

  /** Of a turn that names none. */
  #limitMs(request: RunTurnRequest): number {
    const { limits } = this.#parts.serving.file;
    return request.stream ? limits.stream_ms : limits.turn_ms;
  }
}

/** Hands over what arrives until the client ends the session or is gone. */
async function receive(lane: ServerLane, requests: AsyncIterable<SessionRequest>): Promise<void> {
  try {
    for await (const request of requests) lane.receive(request);
  } catch (error) {
    // The peer is gone: what is open ends with the lane. Anything else is a bug and is seen in the log of the rpc layer.
    if (!(error instanceof ConnectError) || error.code === Code.Internal) throw error;
  }
}
