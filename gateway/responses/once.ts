/** POST /api/v1/responses with an Idempotency-Key: requests that are equal and run at the same time are one turn. */
import { type Hash, createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { equals } from "@bufbuild/protobuf";
import { type Caller, CallerSchema } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import { Fault } from "@sluice/proto/runtime/fault.js";
import type { Compat } from "@sluice/proto/runtime/house-file.js";
import type { ByteBudget } from "@sluice/proto/runtime/byte-budget.js";
import { joinTurn } from "@sluice/proto/runtime/limits/decision.js";
import type { Limiter } from "@sluice/proto/runtime/limits/limiter.js";
import { TokenMeter } from "@sluice/proto/runtime/limits/meter.js";
import { digestBody, readBody } from "../http/body.ts";
import { type Generation, type Member, inFlight } from "../idempotency/generation.ts";
import type { InFlight } from "../idempotency/in-flight.ts";
import { admit } from "../limits/admission.ts";
import { metered } from "../limits/metered.ts";
import { type Asked, type Asker, askedOf, exchangeOf, openOf, wantsServiceMetadata } from "./asked.ts";
import type { Settled } from "./exchange.ts";
import { reserveForParsing, scanBody } from "./request.ts";
import type { ResponsesParts } from "./route.ts";

/** A turn that can be joined. */
export interface AskedOnce extends Asked {
  /** Its key with the policy that it is under. */
  readonly caller: Caller;
}

export interface OnceParts extends ResponsesParts {
  readonly inFlight: InFlight<AskedOnce>;
  readonly limiter: Limiter;
  readonly budget: ByteBudget;
}

/** One request and where its answer goes. */
export interface Call {
  readonly asker: Asker;
  readonly caller: Caller;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Called exactly once, when the exchange is over. */
  readonly settled: Settled;
}

/**
 * Joins the turn that runs under this Idempotency-Key, or opens one.
 * @throws Fault while nothing has been written
 */
export async function createResponseOnce(parts: OnceParts, idempotencyKey: string, call: Call): Promise<void> {
  const { keyHash } = call.asker;
  const running = parts.inFlight.find(keyHash, idempotencyKey);
  const generation = running ?? parts.inFlight.begin(keyHash, idempotencyKey);
  const member = generation.join();
  try {
    const asked = running ? await join(parts, running, call) : await lead(parts, generation, call);
    follow(parts, member, asked, call);
  } catch (error) {
    member.leave();
    throw error;
  }
}

/**
 * A request that joins counts as one, and opens no turn. Its body is compared and not kept. Under another policy than the turn's it cannot join:
 * what was changed before it came holds for it.
 */
async function join(parts: OnceParts, generation: Generation<AskedOnce>, call: Call): Promise<AskedOnce> {
  const { caller, request, response } = call;
  await admit(parts.limiter, caller, response, joinTurn);
  const hash = hashOf(request, parts.compat);
  await digestBody(request, parts.limits.body_bytes, hash);
  const asked = await generation.asked(hash.digest("base64"));
  if (!equals(CallerSchema, asked.caller, caller)) throw inFlight();
  return asked;
}

async function lead(parts: OnceParts, generation: Generation<AskedOnce>, call: Call): Promise<AskedOnce> {
  const { caller, request, response, asker } = call;
  // Not that of the request: the turn goes on for others when this client has left.
  const room = parts.budget.open(caller.keyHash);
  let leave = (_tokens?: number) => room.release();
  try {
    const admission = await admit(parts.limiter, caller, response);
    leave = (tokens) => {
      room.release();
      admission.leave(tokens);
    };
    const body = await readBody(request, parts.limits.body_bytes, room);
    generation.read(hashOf(request, parts.compat).update(body).digest("base64"));
    const members = await scanBody(body);
    await reserveForParsing(room, body, members);
    const asked = { ...askedOf(parts, request.headers, body, members), caller };
    const meter = admission.countsTokens ? new TokenMeter(asked.turn) : undefined;
    generation.opened(
      asked,
      (listener) => parts.pool.open(openOf(parts, asker, asked), meter ? metered(meter, listener) : listener),
      (left) => leave(meter?.tokens(left)),
    );
    return asked;
  } catch (error) {
    leave();
    generation.refused(Fault.from(error));
    throw error;
  }
}

function follow(parts: OnceParts, member: Member, asked: Asked, { asker, response, settled }: Call): void {
  const exchange = exchangeOf(parts, asker, asked, response, (fault) => {
    member.leave();
    settled(fault);
  });
  exchange.start((listener) => member.follow(listener, () => response.destroy()));
}

/** Of everything that decides about an answer; the body follows. */
function hashOf({ headers }: IncomingMessage, compat: Compat): Hash {
  const sessionId = headers["x-session-id"];
  return createHash("sha256").update(JSON.stringify([wantsServiceMetadata(headers, compat), sessionId ?? null]));
}
