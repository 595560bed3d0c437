/** POST /api/v1/responses: who asks, what for, and a turn for it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Admission } from "@sluice/proto/runtime/limits/limiter.js";
import type { Reservation } from "@sluice/proto/runtime/byte-budget.js";
import { TokenMeter } from "@sluice/proto/runtime/limits/meter.js";
import { readBody } from "../http/body.ts";
import type { TurnListener } from "../lane/lane.ts";
import type { LanePool } from "../lane/pool.ts";
import { metered } from "../limits/metered.ts";
import { type AskedParts, type Asker, askedOf, exchangeOf, openOf } from "./asked.ts";
import type { Settled } from "./exchange.ts";
import { reserveForParsing, scanBody } from "./request.ts";

export interface ResponsesParts extends AskedParts {
  readonly pool: LanePool;
}

/**
 * Serves one request that was let in. Settles once the turn is open; the exchange goes on by callbacks.
 * @param admission left when the exchange is over; not when this throws
 * @param settled called exactly once, when the exchange is over
 * @throws Fault while nothing has been written
 */
export async function createResponse(
  parts: ResponsesParts,
  asker: Asker,
  request: IncomingMessage,
  response: ServerResponse,
  admission: Pick<Admission, "countsTokens" | "leave">,
  settled: Settled,
): Promise<void> {
  const body = await readBody(request, parts.limits.body_bytes, asker.room);
  const scanned = scanBody(body, request);
  const members = scanned instanceof Promise ? await scanned : scanned;
  const waiting = reserveForParsing(asker.room, body, members);
  if (waiting) await waiting;
  const asked = askedOf(parts, request.headers, body, members);
  const meter = admission.countsTokens ? new TokenMeter(asked.turn) : undefined;
  const exchange = exchangeOf(parts, asker, asked, response, leaving(admission, meter, settled));
  exchange.start((listener) =>
    parts.pool.open(openOf(parts, asker, asked), handingOver(asker.room, meter ? metered(meter, listener) : listener)),
  );
}

/** A function of its own: made beside the body, it would keep the body in memory until the exchange is over. */
const leaving =
  (admission: Pick<Admission, "leave">, meter: TokenMeter | undefined, settled: Settled): Settled =>
  (fault) => {
    admission.leave(meter?.tokens(fault === undefined));
    settled(fault);
  };

/** The memory of a request is free for others once inference-svc has begun its turn. */
const handingOver = (room: Reservation, listener: TurnListener): TurnListener => ({
  accepted: () => room.release(),
  events: (events, cost) => listener.events(events, cost),
  ended: () => listener.ended(),
  failed: (fault, accepted) => listener.failed(fault, accepted),
});
