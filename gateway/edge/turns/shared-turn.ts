/** Serves turns with an Idempotency-Key: equal concurrent requests share one turn. */
import { type Hash, createHash } from "node:crypto";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Compat } from "@sluice/proto/config/config-file.js";
import type { Generation, JoinedRequest, KeyedTurn } from "@sluice/proto/lib/idempotency/generation.js";
import type { InFlight } from "@sluice/proto/lib/idempotency/in-flight.js";
import type { ByteBudget } from "@sluice/proto/lib/load/byte-budget.js";
import { sharedTurnUse } from "@sluice/proto/lib/limits/decision.js";
import type { Limiter } from "@sluice/proto/lib/limits/limiter.js";
import { TokenMeter } from "@sluice/proto/lib/limits/meter.js";
import { withTokenMeter } from "@sluice/proto/lib/limits/metered.js";
import { digestBody, readBody } from "../http/body.ts";
import type { LanePool } from "../../lane/pool.ts";
import { admit } from "../limits/admission.ts";
import type { TurnCall } from "./call.ts";
import { restoreItems } from "./item-memory.ts";
import {
  type PreparedTurn,
  type TurnParts,
  captureTurn,
  prepareTurn,
  createAnswer,
  toOpenMessage,
  wantsServiceMetadata,
} from "./prepare.ts";
import { reserveForParsing, scanBody } from "./body.ts";

/** A prepared turn that further requests can join. */
export type SharedTurn = PreparedTurn & KeyedTurn;

export interface SharedTurnParts extends TurnParts {
  readonly pool: LanePool;
  readonly inFlight: InFlight<SharedTurn>;
  readonly limiter: Limiter;
  readonly budget: ByteBudget;
}

/**
 * Joins the running turn with this Idempotency-Key, or opens one.
 * @throws Fault while nothing has been written
 */
export async function createSharedTurn(parts: SharedTurnParts, idempotencyKey: string, call: TurnCall): Promise<void> {
  const { keyHash } = call;
  const running = parts.inFlight.find(keyHash, idempotencyKey);
  const generation = running ?? parts.inFlight.begin(keyHash, idempotencyKey);
  const member = generation.join();
  try {
    const turn = running ? await join(parts, running, call) : await lead(parts, generation, call);
    follow(parts, member, turn, call);
  } catch (error) {
    member.leave();
    throw error;
  }
}

/** Joins a running turn. The request counts towards the rate limit, and opens no turn. Its body is compared and not kept. */
async function join(parts: SharedTurnParts, generation: Generation<SharedTurn>, call: TurnCall): Promise<SharedTurn> {
  const { caller: key, req: request } = call;
  await admit(parts.limiter, key, call.res, sharedTurnUse);
  const hash = beginFingerprint(call, parts.compat);
  await digestBody(request, parts.limits.body_bytes, hash);
  return generation.prepared(hash.digest("base64"), key);
}

async function lead(parts: SharedTurnParts, generation: Generation<SharedTurn>, call: TurnCall): Promise<SharedTurn> {
  const { caller: key, req: request } = call;
  // The turn has a separate memory account: its body is still needed for other clients after this client has left.
  const room = parts.budget.open(key.keyHash);
  let leave = (_tokens?: number) => room.release();
  try {
    const admission = await admit(parts.limiter, key, call.res);
    leave = (tokens) => {
      room.release();
      admission.leave(tokens);
    };
    const body = await readBody(request, parts.limits.body_bytes, room);
    generation.read(beginFingerprint(call, parts.compat).update(body).digest("base64"));
    const members = await scanBody(body, undefined, key.keyHash);
    await reserveForParsing(room, body, members, call.door.unparsed);
    const { door, keyHash } = call;
    const memory = parts.itemMemory;
    const limitBytes = parts.limits.body_bytes;
    const whole = await restoreItems({ memory, door, keyHash, room, limitBytes }, { body, members });
    const remember = door.refersToItems ? memory.taker(keyHash) : undefined;
    const read = whole ?? { body, members };
    const turn = { ...prepareTurn(parts, door, request.headers, read.body, read.members, remember), key };
    if (key.capturesContent) captureTurn(parts, call, turn, body, members);
    const meter = admission.countsTokens ? new TokenMeter(turn.request) : undefined;
    generation.opened(
      turn,
      (listener) =>
        parts.pool.open(toOpenMessage(parts, call, turn), meter ? withTokenMeter(meter, listener) : listener),
      { accepted: () => room.release(), settled: (left) => leave(meter?.tokens(left)) },
    );
    return turn;
  } catch (error) {
    leave();
    generation.refused(Fault.from(error));
    throw error;
  }
}

function follow(parts: SharedTurnParts, member: JoinedRequest, turn: PreparedTurn, call: TurnCall): void {
  call.leave = member.leave;
  createAnswer(parts, call, turn).start((listener) => member.follow(listener, () => call.res.destroy()));
}

/** Starts the hash of everything that affects the answer; the caller adds the body. */
function beginFingerprint({ door, req: { headers } }: TurnCall, compat: Compat): Hash {
  const deciding = [door.path, wantsServiceMetadata(headers, compat), headers["x-session-id"] ?? null];
  for (const name of door.decidingHeaders) deciding.push(String(headers[name] ?? ""));
  return createHash("sha256").update(JSON.stringify(deciding));
}
