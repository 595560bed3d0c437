/**
 * Serves turns without Koa: they do not need its context and middleware.
 *
 * The steps are those of every other request, in the same order. Most need not wait, so a promise is created only for those that do.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Cors } from "@sluice/proto/lib/http1/cors.js";
import type { Lifecycle } from "@sluice/proto/lib/process/lifecycle.js";
import { TokenMeter } from "@sluice/proto/lib/limits/meter.js";
import { eventLoop } from "@sluice/proto/lib/load/fair-shares.js";
import { readBody } from "../http/body.ts";
import { type ExchangeParts, authenticate, beginExchange, answerFailure } from "../http/exchange.ts";
import { waitAfterRefusals } from "../http/impatience.ts";
import { LoadShedding, type SheddingParts } from "../http/load-shedding.ts";
import { readIdempotencyKey } from "@sluice/proto/lib/idempotency/in-flight.js";
import type { LanePool } from "../../lane/pool.ts";
import { admit } from "../limits/admission.ts";
import { TurnCall } from "./call.ts";
import type { Door } from "./door.ts";
import { restoreItems } from "./item-memory.ts";
import { captureTurn, createAnswer, prepareTurn, toOpenMessage } from "./prepare.ts";
import { reserveForParsing, scanBody } from "./body.ts";
import type { Refusals } from "./refusals.ts";
import { type SharedTurnParts, createSharedTurn } from "./shared-turn.ts";

export interface TurnRouteParts extends ExchangeParts, SharedTurnParts, SheddingParts {
  readonly pool: LanePool;
  readonly cors: Cors | undefined;
  readonly lifecycle: Lifecycle;
  readonly refusals: Pick<Refusals, "note">;
}

export class TurnRoute {
  readonly #parts: TurnRouteParts;
  readonly #shedding: LoadShedding;

  constructor(parts: TurnRouteParts) {
    this.#parts = parts;
    this.#shedding = new LoadShedding(parts);
  }

  serve(request: IncomingMessage, response: ServerResponse, door: Door): void {
    if (this.#shedding.refuses(request)) return this.#shedding.refuse(request, response, door.faults);
    const call = new TurnCall(request, response, door);
    beginExchange(this.#parts, call);
    response.on("close", () => call.closed(this.#parts.refusals));
    // Moves the client to a ready gateway for its next connection.
    if (!this.#parts.lifecycle.ready) response.setHeader("connection", "close");
    this.#parts.cors?.(request, response);
    // Node's parser has read only the head. One tick later it has read the other bytes received with it, which for most bodies is all of them.
    process.nextTick(answer, this.#parts, call);
  }
}

/** Settles once the turn is open; the answer continues by callbacks. */
async function answer(parts: TurnRouteParts, call: TurnCall): Promise<void> {
  try {
    const slowed = waitAfterRefusals(call.req, call.res);
    if (slowed) await slowed;
    const unknown = authenticate(parts, call);
    if (unknown) await unknown;
    const turn = eventLoop.turnOf(call.keyHash);
    if (turn) await turn;
    call.route = call.door.path;
    const idempotencyKey = readIdempotencyKey(call.req.headers["idempotency-key"]);
    if (idempotencyKey !== undefined) return await createSharedTurn(parts, idempotencyKey, call);
    const admitted = admit(parts.limiter, call.caller, call.res);
    const admission = admitted instanceof Promise ? await admitted : admitted;
    call.leave = admission.leave;
    const reading = readBody(call.req, parts.limits.body_bytes, call.room);
    const body = reading instanceof Promise ? await reading : reading;
    const scanned = scanBody(body, call.req, call.keyHash);
    const members = scanned instanceof Promise ? await scanned : scanned;
    const waiting = reserveForParsing(call.room, body, members, call.door.unparsed);
    if (waiting) await waiting;
    const { door, keyHash, room } = call;
    const memory = parts.itemMemory;
    const restoring = restoreItems(
      { memory, door, keyHash, room, limitBytes: parts.limits.body_bytes },
      { body, members },
    );
    const whole = (restoring && (await restoring)) ?? { body, members };
    const remember = door.refersToItems ? memory.taker(keyHash) : undefined;
    const prepared = prepareTurn(parts, door, call.req.headers, whole.body, whole.members, remember);
    if (call.caller.capturesContent) captureTurn(parts, call, prepared, body, members);
    if (admission.countsTokens) call.meter = new TokenMeter(prepared.request);
    createAnswer(parts, call, prepared).start((listener) =>
      parts.pool.open(toOpenMessage(parts, call, prepared), listener),
    );
  } catch (error) {
    call.leave();
    await answerFailure(parts, call, error);
  }
}
