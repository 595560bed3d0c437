/** The request of one captured turn, and its answer so far. */
import type { Caller } from "@sluice/proto/gen/sluice/admin/v1/access_service_pb.js";
import type { TurnContent } from "@sluice/proto/gen/sluice/admin/v1/ledger_service_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";

/** The fields of a request that decide about its capture, or that are stored with its content. */
export type CapturedRequest = Pick<RunTurnRequest, "provider" | "user"> & PermittingRequest;

/** The permission of a request to keep its content; requests for embeddings have no such field. */
export type PermittingRequest = Partial<Pick<RunTurnRequest, "mayKeepContent">>;

/** Data that identify a captured turn. */
export interface CapturedIdentity {
  readonly caller: Caller;
  readonly requestId: string;
  readonly generationId: string;
  /** Start of the turn, by performance.now() in milliseconds. */
  readonly startedAt: number;
  readonly user: string | undefined;
}

/** Memory for captured content until it is sent to admin-svc. */
export interface CaptureSink {
  /** Reserves memory. @returns false if there is no room for so many bytes */
  hold(bytes: number): boolean;
  release(bytes: number): void;
  /** Counts a turn whose content was dropped for lack of memory. */
  giveUp(): void;
  /** Takes the content of an ended turn, whose bytes are already reserved. */
  push(content: TurnContent): void;
}

export class CapturedTurn {
  readonly #holder: CaptureSink;
  readonly #turn: Omit<TurnContent, "content">;
  readonly #request: Buffer;
  readonly #requestBytes: number;
  readonly #maxBytes: number;
  #answer: Buffer[] = [];
  #answerBytes = 0;
  #heldBytes = 0;
  #isOver = false;

  /** @param maxBytes maximum bytes kept of the request, and of the answer */
  constructor(identity: CapturedIdentity, body: Buffer, maxBytes: number, holder: CaptureSink) {
    const { caller, requestId, generationId, startedAt, user } = identity;
    this.#holder = holder;
    this.#maxBytes = maxBytes;
    this.#requestBytes = body.length;
    this.#turn = {
      $typeName: "sluice.admin.v1.TurnContent",
      generationId,
      requestId,
      workspaceId: caller.workspaceId,
      keyHash: caller.keyHash,
      openedAtMs: BigInt(Date.now() - Math.round(performance.now() - startedAt)),
      ...(user !== undefined && { user }),
    };
    const kept = Math.min(body.length, maxBytes);
    // The body may be part of a larger buffer; the copy lets that buffer be freed.
    this.#request = this.#hold(kept) ? Buffer.from(body.subarray(0, kept)) : Buffer.alloc(0);
  }

  /** Adds a part of the answer. */
  add(text: string): void {
    if (this.#isOver) return;
    const room = Math.max(0, this.#maxBytes - this.#answerBytes);
    this.#answerBytes += Buffer.byteLength(text);
    const kept = room === 0 ? Buffer.alloc(0) : Buffer.from(text).subarray(0, room);
    if (kept.length > 0 && this.#hold(kept.length)) this.#answer.push(kept);
  }

  /** Hands over the captured content. Only the first call has an effect. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#holder.push({
      ...this.#turn,
      content: {
        $typeName: "sluice.admin.v1.CapturedContent",
        request: this.#request,
        requestBytes: BigInt(this.#requestBytes),
        answer: Buffer.concat(this.#answer),
        answerBytes: BigInt(this.#answerBytes),
      },
    });
  }

  /** Reserves memory; without room, the whole turn is dropped. */
  #hold(bytes: number): boolean {
    if (this.#holder.hold(bytes)) {
      this.#heldBytes += bytes;
      return true;
    }
    this.#isOver = true;
    this.#holder.release(this.#heldBytes);
    this.#answer = [];
    this.#holder.giveUp();
    return false;
  }
}
