/** A call with an Idempotency-Key. Equal calls at the same time share one turn. */
import { type Hash, createHash } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import type { Generation, JoinedRequest, KeyedTurn } from "@sluice/proto/lib/idempotency/generation.js";
import { type InFlight, readIdempotencyKey } from "@sluice/proto/lib/idempotency/in-flight.js";
import type { Reservation } from "@sluice/proto/lib/load/byte-budget.js";
import { sharedTurnUse } from "@sluice/proto/lib/limits/decision.js";
import { tagsHeader } from "@sluice/proto/lib/turns/tags.js";
import { digestBody } from "../http/body.ts";
import { admit } from "../limits/admission.ts";
import { TurnCall, type TurnCallDeps } from "./call.ts";
import type { Door } from "./door.ts";
import { type PreparedTurn, createAnswer, sendTurn, wantsServiceMetadata } from "./prepare.ts";

/** A prepared turn that further requests can join. */
export type SharedTurn = PreparedTurn & KeyedTurn;

export interface SharedCallDeps extends TurnCallDeps {
  readonly inFlight: InFlight<SharedTurn>;
}

export const idempotencyHeader = "idempotency-key";

export class SharedCall extends TurnCall {
  readonly #parts: SharedCallDeps;
  /** The turn that this call opens for all of its clients; undefined once it is open. */
  #led: Generation<SharedTurn> | undefined = undefined;
  #member: JoinedRequest | undefined = undefined;
  #bodyRoom: Reservation | undefined = undefined;

  constructor(parts: SharedCallDeps, request: IncomingMessage, response: ServerResponse, door: Door) {
    super(parts, request, response, door);
    this.#parts = parts;
  }

  /** Undefined, since other clients may need the body after this client has left. */
  override get client(): undefined {
    return undefined;
  }

  override get bodyRoom(): Reservation {
    return (this.#bodyRoom ??= this.#parts.budget.open(this.keyHash));
  }

  /**
   * Joins the running turn with this Idempotency-Key. A call that joins counts towards the rate limit, but opens no turn; its body is compared and
   * then dropped.
   */
  async join(): Promise<boolean> {
    const { inFlight, limiter, limits } = this.#parts;
    const key = readIdempotencyKey(this.req.headers[idempotencyHeader]) ?? "";
    const running = inFlight.find(this.keyHash, key);
    const generation = running ?? inFlight.begin(this.keyHash, key);
    if (!running) this.#led = generation;
    this.#member = generation.join();
    if (!running) return false;
    await admit(limiter, this.caller, this.res, sharedTurnUse);
    const hash = this.#beginFingerprint();
    await digestBody(this.req, limits.body_bytes, hash);
    this.#follow(this.#member, await running.prepared(hash.digest("base64"), this.caller));
    return true;
  }

  override async readBody(): Promise<Buffer> {
    const body = await super.readBody();
    this.#led?.read(this.#beginFingerprint().update(body).digest("base64"));
    return body;
  }

  override open(prepared: PreparedTurn): void {
    const { admission, bodyRoom } = this;
    const turn = { ...prepared, key: this.caller };
    this.#led?.opened(turn, (listener) => sendTurn(this.#parts, this, turn, listener), {
      accepted: () => bodyRoom.release(),
      settled: (left) => {
        bodyRoom.release();
        admission?.leave(left);
      },
    });
    this.#led = undefined;
    this.#follow(this.#member as JoinedRequest, turn);
  }

  override refused(error: unknown): Promise<void> {
    this.#bodyRoom?.release();
    this.#led?.refused(Fault.from(error));
    this.#member?.leave();
    return super.refused(error);
  }

  /** Leaves only this client's share of the turn. The place in the rate limits belongs to the turn, which goes on for other clients. */
  protected override leave(): void {
    this.#member?.leave();
  }

  #follow(member: JoinedRequest, turn: SharedTurn): void {
    createAnswer(this.#parts, this, turn).start((listener) => member.follow(listener, () => this.res.destroy()));
  }

  /** Begins a hash of everything that affects the answer, to which the caller adds the body. */
  #beginFingerprint(): Hash {
    const { door, req } = this;
    const { headers } = req;
    const deciding = [
      door.path,
      wantsServiceMetadata(headers, this.#parts.compat),
      headers["x-session-id"] ?? null,
      headers[tagsHeader] ?? null,
    ];
    for (const name of door.decidingHeaders) deciding.push(String(headers[name] ?? ""));
    return createHash("sha256").update(JSON.stringify(deciding));
  }
}
