/** A turn for a caller without a gateway, with an API key or, from Sluice's own services, on behalf of a key. */
import type { HandlerContext } from "@connectrpc/connect";
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { ConfigFile } from "@sluice/proto/config/config-file.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import type { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { withTokenMeter } from "@sluice/proto/lib/limits/meter.js";
import type { Pressure } from "@sluice/proto/lib/load/pressure.js";
import type { Access } from "@sluice/proto/lib/policy/access.js";
import type { Echo } from "@sluice/proto/lib/responses/echo.js";
import { type ResponseIdentity, identifyResponse, seconds } from "@sluice/proto/lib/responses/identity.js";
import { requestIdIn } from "@sluice/proto/lib/rpc/caller.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import type { TurnControl, TurnListener } from "@sluice/proto/lib/lane/turn-listener.js";
import { traceHeadersOf } from "@sluice/proto/lib/tracing/rpc.js";
import type { Engine, Pipeline } from "../../engine/engine.ts";
import { admitDirectly } from "./direct-admission.ts";
import type { DirectRefusals } from "./direct-refusals.ts";
import { PushedTurn } from "./pushed-turn.ts";
import type { TimeLimits } from "./time-limit.ts";

export interface DirectTurnDeps extends DirectRefusals {
  readonly engine: Engine;
  readonly pipeline: Pipeline;
  readonly access: Access;
  readonly limiter: Limiter;
  readonly pressure: Pick<Pressure, "refuses">;
  readonly config: TimeLimits & { readonly file: Pick<ConfigFile, "compat"> };
  readonly token: ServiceToken;
  /** Called before anything is sent to a client, to write what it will learn to the ledger first. */
  readonly beforeSending: () => void;
}

export interface DirectCall {
  readonly keyHash: string;
  readonly request: RunTurnRequest;
  readonly context: HandlerContext;
}

/** An admitted call of a turn. */
export interface AdmittedTurn {
  readonly turn: DirectTurn;
  readonly open: (listener: TurnListener) => TurnControl;
  /** Ends the call's use of its concurrency limits; repeated calls have no effect. @param left whether the call ended before the turn */
  readonly leave: (left: boolean) => void;
}

/** Identifies a turn for the calls that share it. */
export class DirectTurn {
  readonly generationId = newId("gen-");
  readonly #createdAt = seconds();
  readonly key: Caller;
  #identity: ResponseIdentity | undefined;

  constructor(key: Caller) {
    this.key = key;
  }

  /** Ids and echoed settings of the turn's response object, equal at every call. */
  identify(request: RunTurnRequest, echo: Echo, metadataAlias: string | null): ResponseIdentity {
    this.#identity ??= identifyResponse(request, echo, metadataAlias, this.#createdAt);
    return this.#identity;
  }
}

/** Admits a single call, or the first of several calls that share a turn. @throws Fault UNAUTHENTICATED, RATE_LIMITED, UNAVAILABLE */
export async function admitTurn(deps: DirectTurnDeps, call: DirectCall, limitMs: number): Promise<AdmittedTurn> {
  const { caller, admission } = await admitDirectly(deps, call.keyHash, call.context.responseHeader);
  const turn = new DirectTurn(caller);
  admission.countTokens(call.request);
  const { meter } = admission;
  return {
    turn,
    open: (listener) => openInEngine(deps, call, turn, limitMs, meter ? withTokenMeter(meter, listener) : listener),
    leave: (left) => admission.leave(left),
  };
}

function openInEngine(
  { engine, pipeline, access }: DirectTurnDeps,
  { keyHash, request, context: { requestHeader } }: DirectCall,
  { generationId }: DirectTurn,
  limitMs: number,
  listener: TurnListener,
): TurnControl {
  const requester = {
    keyHash,
    requestId: requestIdIn(requestHeader) ?? newId("req_"),
    generationId,
    policyGeneration: access.generation,
    deadline: performance.now() + limitMs,
    trace: traceHeadersOf(requestHeader),
    scanned: false,
  };
  const pushed = new PushedTurn(listener);
  pushed.start((turn) => engine.run(request, requester, turn, pipeline), limitMs);
  return pushed;
}
