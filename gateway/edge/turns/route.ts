/** Serves turns without Koa, whose context and middleware they do not need. The steps are those of every other request, in the same order. */
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
    // Moves the client to a ready gateway for its next connection.
    if (!this.#parts.lifecycle.ready) response.setHeader("connection", "close");
    this.#parts.cors?.(request, response);
    // Node's parser has read only the head. One tick later it has read the other bytes received with it, which for most bodies is all of them.
    process.nextTick(openTurn, this.#parts, call);
  }
}
