/** A session client for the warm-up: runs turns to their ends and ignores their content. */
import { create } from "@bufbuild/protobuf";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import { type ClientFrame, OpenSchema } from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { Fault } from "@sluice/proto/lib/faults/fault.js";
import { newId } from "@sluice/proto/lib/ids/id.js";
import { ClientStream, type ClientStreamListener } from "@sluice/proto/lib/rpc/client-stream.js";
import { pathOf } from "@sluice/proto/lib/rpc/dial.js";
import type { ServiceToken } from "@sluice/proto/lib/rpc/service-token.js";
import { decodeSessionResponse } from "@sluice/proto/lib/lane/decode-response.js";
import { writeSessionRequest } from "@sluice/proto/lib/lane/encode-request.js";
import { Outbox } from "@sluice/proto/lib/lane/outbox.js";
import { SlotMap } from "@sluice/proto/lib/load/slot-map.js";

interface RunningTurn {
  ended(): void;
  failed(error: unknown): void;
}

const path = pathOf(InferenceService.method.session);
const traceparent = `00-${"1".repeat(32)}-${"2".repeat(16)}-00`;

export class SessionClient implements ClientStreamListener {
  readonly #stream: ClientStream;
  readonly #outbox: Outbox<ClientFrame>;
  readonly #turns = new SlotMap<number, RunningTurn>();
  #nextTurn = 1;

  constructor(address: string, token: ServiceToken) {
    this.#stream = new ClientStream({ address, path, token, peer: undefined }, this);
    const write = (part: Uint8Array) => this.#stream.write(part);
    this.#outbox = new Outbox((frames) =>
      writeSessionRequest({ $typeName: "sluice.inference.v1.SessionRequest", frames }, write),
    );
  }

  /** Runs a turn to its end. @throws when the turn fails, or the session is lost */
  run(request: RunTurnRequest, keyHash: string): Promise<void> {
    const turn = this.#nextTurn++;
    const value = create(OpenSchema, {
      request,
      keyHash,
      requestId: newId("req_"),
      generationId: newId("gen-"),
      policyGeneration: 1n,
      deadlineMs: 600_000,
      traceparent,
    });
    const frame: ClientFrame["frame"] = { case: "open", value };
    return new Promise((ended, failed) => {
      this.#turns.set(turn, { ended, failed });
      this.#outbox.push({ $typeName: "sluice.inference.v1.ClientFrame", turn, frame }, request.inputJson.length);
    });
  }

  close(): void {
    this.#stream.end();
  }

  readonly message = (bytes: Buffer, start: number, end: number): void => {
    for (const { turn, frame, last } of decodeSessionResponse(bytes, start, end).frames) {
      const running = this.#turns.get(turn);
      if (!last || !running) continue;
      this.#turns.delete(turn);
      if (frame.case === "fault") running.failed(Fault.fromMessage(frame.value));
      else running.ended();
    }
  };

  drained(): void {
    this.#outbox.drained();
  }

  closed(error: Error | undefined): void {
    for (const turn of this.#turns.clear()) turn.failed(error ?? new Error("the session has ended"));
  }
}
