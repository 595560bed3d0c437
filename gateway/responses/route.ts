/** POST /api/v1/responses: who asks, what for, and a turn for it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Admission } from "@sluice/proto/runtime/limits/limiter.js";
import { TokenMeter } from "@sluice/proto/runtime/limits/meter.js";
import { readBody } from "../http/body.ts";
import type { LanePool } from "../lane/pool.ts";
import { metered } from "../limits/metered.ts";
import { type AskedParts, type Asker, askedOf, exchangeOf, openOf } from "./asked.ts";
import type { Settled } from "./exchange.ts";
import { scanBody } from "./request.ts";

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
  const body = await readBody(request, parts.limits.body_bytes);
  const scanned = scanBody(body, request);
  const members = scanned instanceof Promise ? await scanned : scanned;
  const asked = askedOf(parts, request.headers, body, members);
  const meter = admission.countsTokens ? new TokenMeter(asked.turn) : undefined;
  const exchange = exchangeOf(parts, asker, asked, response, (fault) => {
    admission.leave(meter?.tokens(fault === undefined));
    settled(fault);
  });
  exchange.start((listener) =>
    parts.pool.open(openOf(parts, asker, asked), meter ? metered(meter, listener) : listener),
  );
}
