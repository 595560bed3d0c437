/**
 * Serves turns without Koa: they need neither its context nor its middleware. The steps are the same as for every other request, in the same order.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Cors } from "@sluice/proto/lib/http1/cors.js";
import type { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { LoadShedding, type SheddingDeps } from "../http/load-shedding.ts";
import type { LanePool } from "../../lane/pool.ts";
import { TurnCall } from "./call.ts";
import type { Door } from "./door.ts";
import { openTurn } from "./open.ts";
import { SharedCall, type SharedCallDeps, idempotencyHeader } from "./shared-call.ts";

export interface TurnRouteDeps extends SharedCallDeps, SheddingDeps {
  readonly pool: LanePool;
  readonly cors: Cors | undefined;
  readonly lifecycle: Lifecycle;
}

export class TurnRoute {
  readonly #parts: TurnRouteDeps;
  readonly #shedding: LoadShedding;

  constructor(parts: TurnRouteDeps) {
    this.#parts = parts;
    this.#shedding = new LoadShedding(parts);
  }

  serve(request: IncomingMessage, response: ServerResponse, door: Door): void {
    if (this.#shedding.refuses(request)) return this.#shedding.refuse(request, response, door.faults);
    const isShared = request.headers[idempotencyHeader] !== undefined;
    const call = new (isShared ? SharedCall : TurnCall)(this.#parts, request, response, door);
    // An unready gateway closes the connection, so that the client's next one reaches a ready gateway.
    if (!this.#parts.lifecycle.ready) response.setHeader("connection", "close");
    this.#parts.cors?.(request, response);
    // At this point Node's parser has read only the head. One tick later it has also read the other bytes received with it, which contain most bodies
    // completely.
    process.nextTick(openTurn, this.#parts, call);
  }
}
