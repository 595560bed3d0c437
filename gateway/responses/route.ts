/** POST /api/v1/responses: who asks, what for, and a turn for it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Access } from "@sluice/proto/runtime/access.js";
import { Fault, FaultOrigin, FaultReason } from "@sluice/proto/runtime/fault.js";
import { newId } from "@sluice/proto/runtime/id.js";
import type { Compat, Limits } from "@sluice/proto/runtime/house-file.js";
import { readBody } from "../http/body.ts";
import type { LanePool } from "../lane/pool.ts";
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

/** Turns that each key has open in this process. */
export class OpenTurns {
  readonly #byKey = new Map<string, number>();
  readonly #limit: () => number;
  total = 0;

  /** @param limit that holds now */
  constructor(limit: () => number) {
    this.#limit = limit;
  }

  /** @throws Fault RATE_LIMITED when the key has its limit of turns open */
  enter(keyHash: string): () => void {
    const open = this.#byKey.get(keyHash) ?? 0;
    const limit = this.#limit();
    if (open >= limit) {
      throw new Fault(FaultReason.RATE_LIMITED, `Rate limit exceeded: ${limit} requests of this key are running`, {
        retryAfterMs: 1_000,
        origin: FaultOrigin.GATEWAY,
        metadata: { error_type: "rate_limit_exceeded" },
      });
    }
    this.#byKey.set(keyHash, open + 1);
    this.total++;
    let entered = true;
    return () => {
      if (!entered) return;
      entered = false;
      this.total--;
      const left = (this.#byKey.get(keyHash) ?? 1) - 1;
      if (left === 0) this.#byKey.delete(keyHash);
      else this.#byKey.set(keyHash, left);
    };
  }
}

/** `X-Service-Metadata`, or its legacy spelling; anything but `enabled` is disabled. */
function wantsServiceMetadata(headers: IncomingMessage["headers"]): boolean {
  const value = headers["x-service-metadata"] ?? headers["x-service-experimental-metadata"];
  return typeof value === "string" && value.toLowerCase() === "enabled";
}

/**
 * Serves one request whose key has been resolved. Settles once the turn is open; the exchange goes on by callbacks.
 * @param settled called exactly once, when the exchange is over
 * @throws Fault while nothing has been written
 */
export async function createResponse(
  parts: ResponsesParts,
  caller: { readonly keyHash: string; readonly requestId: string },
  request: IncomingMessage,
  response: ServerResponse,
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
  const exchange = turn.stream
    ? new StreamExchange(response, object, headers, settled, { keepAlive, gateMs: limits.status_gate_ms })
    : new ObjectExchange(response, object, headers, settled);
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
      },
      listener,
    ),
  );
}
