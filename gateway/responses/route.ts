/** POST /api/v1/responses: who asks, what for, and a turn for it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Access } from "@sluice/proto/runtime/access.js";
import { newId } from "@sluice/proto/runtime/id.js";
import type { Compat, Limits } from "@sluice/proto/runtime/house-file.js";
import type { Admission } from "@sluice/proto/runtime/limits/limiter.js";
import { TokenMeter } from "@sluice/proto/runtime/limits/meter.js";
import type { TraceHeaders } from "@sluice/proto/runtime/tracing/context.js";
import { readBody } from "../http/body.ts";
import type { LanePool } from "../lane/pool.ts";
import { metered } from "../limits/metered.ts";
import type { KeepAlive } from "../sse/event-stream.ts";
import { ObjectExchange, type Settled, StreamExchange } from "./exchange.ts";
import { ResponseObject, seconds } from "./object.ts";
import { parseRequest } from "./request.ts";

export interface ResponsesParts {
  readonly access: Access;
  readonly pool: LanePool;
  readonly keepAlive: KeepAlive;
  readonly limits: Limits;
  readonly compat: Compat;
}

/** `X-Service-Metadata`, or its legacy spelling; anything but `enabled` is disabled. */
function wantsServiceMetadata(headers: IncomingMessage["headers"]): boolean {
  const value = headers["x-service-metadata"] ?? headers["x-service-experimental-metadata"];
  return value === "enabled";
}

/**
 * Serves one request that was let in. Settles once the turn is open; the exchange goes on by callbacks.
 * @param admission left when the exchange is over; not when this throws
 * @param settled called exactly once, when the exchange is over
 * @throws Fault while nothing has been written
 */
export async function createResponse(
  parts: ResponsesParts,
  caller: { readonly keyHash: string; readonly requestId: string; readonly trace: TraceHeaders },
  request: IncomingMessage,
  response: ServerResponse,
  admission: Pick<Admission, "countsTokens" | "leave">,
  settled: Settled,
): Promise<void> {
  const { access, pool, keepAlive, limits, compat } = parts;
  const sessionId = request.headers["x-session-id"];
  const body = await readBody(request, limits.body_bytes);
  const { request: turn, echo } = parseRequest(
    body,
    {
      serviceMetadata: wantsServiceMetadata(request.headers),
      ...(typeof sessionId === "string" && { sessionId }),
    },
    compat.fill_defaults,
  );
  const metadataAlias = compat.emit_metadata_alias ?? undefined;
  const headers = { requestId: caller.requestId, generationId: newId("gen-"), metadataAlias };
  const model = turn.model === "" ? (turn.models[0] ?? "") : turn.model;
  const object = new ResponseObject({ id: newId("resp_"), createdAt: seconds(), model, echo, metadataAlias });
  const meter = admission.countsTokens ? new TokenMeter(turn) : undefined;
  const over: Settled = (fault) => {
    admission.leave(meter?.tokens(fault === undefined));
    settled(fault);
  };
  const exchange = turn.stream
    ? new StreamExchange(response, object, headers, over, { keepAlive, gateMs: limits.status_gate_ms })
    : new ObjectExchange(response, object, headers, over);
  exchange.start((listener) =>
    pool.open(
      {
        $typeName: "sluice.inference.v1.Open",
        request: turn,
        keyHash: caller.keyHash,
        requestId: caller.requestId,
        generationId: headers.generationId,
        policyGeneration: access.generation,
        deadlineMs: turn.stream ? limits.stream_ms : limits.turn_ms,
        credit: 0,
        traceparent: caller.trace.traceparent,
        tracestate: caller.trace.tracestate,
      },
      meter ? metered(meter, listener) : listener,
    ),
  );
}
