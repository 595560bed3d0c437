/** Runs turns for all handlers: resolves the policy, checks the request, runs the stack and records the outcome. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { ByteBudget } from "@sluice/proto/lib/load/byte-budget.js";
import { heldBytes } from "@sluice/proto/lib/load/held-bytes.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import type { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import type { TurnModelLimits } from "../turn/model-limits.ts";
import type { PermissionDefault } from "../turn/permissions.ts";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/lib/faults/fault.js";
import type { Hindrances } from "@sluice/proto/lib/process/hindrances.js";
import { dropContent } from "@sluice/proto/lib/turns/drop-content.js";
import { requestedModel } from "@sluice/proto/lib/turns/turn-facts.js";
import { type Registry, gauge } from "@sluice/proto/lib/metrics/metrics.js";
import { admit, hindranceFault, overloadedFault } from "./admission.ts";
import { AnswerDelivery } from "./deliver.ts";
import type { Requester } from "../turn/requester.ts";
import { type EndUserDeps, checkEndUser } from "./end-users.ts";
import { measureReleased, measureRequest } from "../models/estimate/memory.ts";
import { hasMadeCalls } from "./ledger-turns.ts";
import type { TurnObserver } from "./turn-recorder.ts";
import { OpenTurn, type OpenTurns } from "./open-turns.ts";
import { isGatewayUnavailable } from "../models/routing/attempt/fault-owner.ts";
import { requestedSlug, serviceMetadata } from "../models/routing/records/service-metadata.ts";
import { OpenKeys } from "./open-keys.ts";
import { requirePermitted } from "./permitted.ts";
import type { TurnRequest } from "../turn/request.ts";
import type { TurnSignal } from "../turn/signal.ts";
import type { Trace } from "../turn/trace.ts";
import type { Turn } from "../turn/turn.ts";
import { type EngineTurn, usageBatch } from "./wire.ts";

/** Maximum open turns of a process. At 66 KiB each (measured, without their text) they need less than a gibibyte. */
const maxOpenTurns = 10_000;

export interface EngineDeps extends EndUserDeps {
  readonly access: Access;
  readonly budget: ByteBudget;
  readonly openTurns: OpenTurns;
  readonly observer: TurnObserver;
  readonly registry: Registry;
  /** The current `permissions.default` of the configuration file. */
  readonly permissionDefault: () => PermissionDefault;
  /** Counts requests to models that have limits. */
  readonly modelLimiter: Pick<Limiter, "enterModels">;
  readonly region: string;
  readonly hindrances: Pick<Hindrances, "whole">;
}

/** Parsing and stack for one kind of request: turns and embeddings are parsed differently, and have different layers. */
export interface Pipeline {
  /** Parses the request. @throws Fault INVALID_REQUEST */
  readonly parse: (request: RunTurnRequest, requester: Requester, caller: Caller) => TurnRequest;
  /** The stack of layers. */
  readonly turn: Turn;
}

export class Engine {
  readonly #parts: EngineDeps;
  readonly #openKeys: OpenKeys;
  #open = 0;

  constructor(parts: EngineDeps) {
    this.#parts = parts;
    this.#openKeys = new OpenKeys(parts.access);
    gauge(parts.registry, "sluice_open_turns", "Turns that are open in this process.", () => this.#open);
  }

  /** Ends all open turns, because this process shuts down and has no time left for them. */
  endTurns(): void {
    this.#openKeys.endAll(
      new Fault(FaultReason.UNAVAILABLE, "", { retryAfterMs: 1_000, origin: FaultOrigin.INFERENCE }),
    );
  }

  /**
   * Runs one turn, and passes its batches to `turn`. Settles when the turn has ended or is cancelled; a cancel also
   * stops the call of the provider.
   * @param request its content is dropped after parsing: see drop-content.ts
   * @throws Fault, with service_metadata if the client requested it
   */
  async run(request: RunTurnRequest, requester: Requester, turn: EngineTurn, pipeline: Pipeline): Promise<void> {
    const { signal } = turn;
    const { keyHash, policyGeneration } = requester;
    const room = this.#parts.budget.open(keyHash);
    const held = heldBytes.open(keyHash, (fault) => turn.cancel(fault));
    let leave = () => {};
    let place: number | undefined;
    let caller: Caller | undefined;
    let trace: Trace | undefined;
    let modelLimits: TurnModelLimits | undefined;
    let delivery: AnswerDelivery | undefined;
    let failure: Fault | undefined;
    this.#open++;
    const observation = this.#parts.observer.begin(request, requester);
    try {
      const hindrance = this.#parts.hindrances.whole;
      if (hindrance) throw hindranceFault(hindrance);
      if (this.#open > maxOpenTurns) throw overloadedFault();
      const waiting = room.grow(measureRequest(request));
      const released = measureReleased(request);
      if (waiting) await waiting;
      const resolved = this.#parts.access.resolve(keyHash, policyGeneration, observation.span);
      // Keys are nearly always cached: an `await` would cost every turn a microtask.
      const known = resolved instanceof Promise ? await resolved : resolved;
      const scope = admit(known, requester, request, signal, held, this.#parts, observation.span);
      caller = scope.caller;
      modelLimits = scope.modelLimits;
      let turnRequest: TurnRequest | undefined = pipeline.parse(request, requester, caller);
      if (scope.permissions) requirePermitted(turnRequest, scope.permissions);
      dropContent(request);
      trace = scope.trace;
      if (turnRequest.ignoredFields) trace.ignoredFields = turnRequest.ignoredFields;
      if (this.#parts.enforcesEndUsers()) {
        const checking = checkEndUser(this.#parts, scope.caller, scope.user, policyGeneration);
        if (checking) await checking;
      }
      leave = this.#openKeys.enter(scope.caller, turn);
      const open = new OpenTurn(scope, requestedModel(request.model, request.models), turn);
      place = this.#parts.openTurns.add(open);
      turn.accepted();
      delivery = new AnswerDelivery(pipeline.turn(turnRequest, scope), turn, scope.trace, {
        metadata: () => this.#metadata(request, scope.trace),
        begun: () => room.shrink(released),
        answered: (outcome) =>
          observation.answered(request, requester, {
            caller: scope.caller,
            trace: scope.trace,
            outcome,
            failure: undefined,
            cancelled: false,
          }),
      });
      // From here on, layers with retries hold the request. A reference in this function would keep it in memory until
      // the end of the stream.
      turnRequest = undefined;
      open.delivery = delivery;
      const delivered = delivery.run();
      if (delivered) await delivered;
      if (!delivery.outcome && !hasLeft(signal)) throw connectionLost();
    } catch (error) {
      failure = Fault.from(signal.reason instanceof Fault ? signal.reason : error);
      if (requester.scanned && isUnbegun(failure, trace)) failure = failure.with({ isUnbegun: true });
      trace?.failCommitted(failure.attemptStatus);
      const hasOutput = trace?.firstMs !== undefined || (trace?.aligned.length ?? 0) > 0;
      const usage = hasOutput ? trace?.usage : undefined;
      if (usage) void turn.take(usageBatch(usage), false);
      if (trace && failure.reason !== FaultReason.INTERNAL && request.serviceMetadata) {
        failure = failure.with({ serviceMetadataJson: this.#metadata(request, trace) });
      }
      throw failure;
    } finally {
      room.release();
      held.release();
      leave();
      if (place !== undefined) this.#parts.openTurns.delete(place);
      this.#open--;
      const cancelled = hasLeft(signal);
      observation.ended(request, requester, { caller, trace, outcome: delivery?.outcome, failure, cancelled });
      modelLimits?.leave();
    }
  }

  #metadata(request: RunTurnRequest, trace: Trace): Uint8Array {
    if (!request.serviceMetadata) return new Uint8Array();
    const { unknownFields } = request;
    const parts = { requested: requestedSlug(request), region: this.#parts.region, unknownFields };
    return Buffer.from(JSON.stringify(serviceMetadata(trace, parts)));
  }
}

/**
 * Whether the turn failed for a cause within Sluice before any provider was called. The gateway then moves the turn to
 * another process, or records the failure. Calls Sluice itself pays for, such as those of judges, may be repeated.
 */
const isUnbegun = (failure: Fault, trace: Trace | undefined): boolean =>
  isGatewayUnavailable(failure) && !(trace && (trace.attempts.length > 0 || hasMadeCalls(trace)));

/** Whether the client has left. A turn aborted with a fault has failed; any other abort reason means that the client has left. */
const hasLeft = ({ aborted, reason }: TurnSignal): boolean => aborted && !(reason instanceof Fault);

const connectionLost = (): Fault => new Fault(FaultReason.PROVIDER_FAILED, "Provider connection lost");
