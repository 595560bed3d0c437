/** Simulates inference-svc while the gateway warms up: a session with the same answer for every turn. */
import type { ServerHttp2Stream } from "node:http2";
import { type MessageInitShape, create } from "@bufbuild/protobuf";
import { InferenceService } from "@sluice/proto/gen/sluice/inference/v1/inference_service_pb.js";
import {
  type Batch,
  BatchSchema,
  type ServerFrame,
  type SessionResponse,
  SessionResponseSchema,
} from "@sluice/proto/gen/sluice/inference/v1/session_pb.js";
import {
  RunTurnRequestSchema,
  type TurnEvent,
  TurnEventSchema,
  TurnStatus,
} from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import type { ProcessDeps } from "@sluice/proto/lib/process/process-parts.js";
import { pathOf } from "@sluice/proto/lib/rpc/dial.js";
import { maxMessageBytes } from "@sluice/proto/lib/rpc/serve.js";
import { ServerStream } from "@sluice/proto/lib/rpc/server-stream.js";
import { supportedFieldsOf } from "@sluice/proto/lib/rpc/supported-fields.js";
import { decodeSessionRequest } from "@sluice/proto/lib/lane/decode-request.js";
import { encodeSessionResponse } from "@sluice/proto/lib/lane/encode-response.js";
import { Outbox, eventCost } from "@sluice/proto/lib/lane/outbox.js";
import { type Peer, openPeer } from "@sluice/proto/lib/warm-up/peer.js";

const word = " another";
const words = 5;

const messageJson = (status: string, content: readonly object[]): Uint8Array =>
  Buffer.from(JSON.stringify({ type: "message", id: "msg_1", role: "assistant", status, content }));

const eventOf = (event: NonNullable<MessageInitShape<typeof TurnEventSchema>["event"]>): TurnEvent =>
  create(TurnEventSchema, { event });

const content = [{ type: "output_text", text: word.repeat(words), annotations: [], logprobs: [] }];
const turnStart = eventOf({ case: "start", value: { model: "warm-up/echo" } });
const itemStart = eventOf({ case: "itemStart", value: { index: 0, itemJson: messageJson("in_progress", []) } });
const textDelta = eventOf({ case: "textDelta", value: { index: 0, part: 0, delta: word } });
const itemEnd = eventOf({ case: "itemEnd", value: { index: 0, itemJson: messageJson("completed", content) } });
const cost = { inputPicoUsd: 212_000_000n, outputPicoUsd: 24_000_000n };
const usage = { inputTokens: 212, outputTokens: 24, cost };
const turnEnd = eventOf({ case: "end", value: { status: TurnStatus.COMPLETED, serviceTier: "default", usage } });

const batchOf = (...events: TurnEvent[]): Batch => create(BatchSchema, { events, cost: eventCost * events.length });

const wholeAnswer: readonly Batch[] = [batchOf(turnStart, itemEnd, turnEnd)];
const streamedAnswer: readonly Batch[] = [
  batchOf(turnStart, itemStart),
  ...Array.from({ length: words }, () => batchOf(textDelta)),
  batchOf(itemEnd, turnEnd),
];

const knows = { ...supportedFieldsOf(RunTurnRequestSchema) };
const greeting = create(SessionResponseSchema, { hello: { instance: "warm-up", knows } });

const internalCalls = new Map([[pathOf(InferenceService.method.session), serveSession]]);

export const openInferencePeer = (parts: Pick<ProcessDeps, "log" | "token">): Promise<Peer> =>
  openPeer(parts, { routes: () => {}, internalCalls });

function serveSession(http2Stream: ServerHttp2Stream): void {
  const stream = new ServerStream(http2Stream, maxMessageBytes, {
    message: (bytes, start, end) => {
      for (const { turn, frame } of decodeSessionRequest(bytes, start, end).frames) {
        if (frame.case !== "open") continue;
        answer(outbox, turn, frame.value.request?.stream ? streamedAnswer : wholeAnswer);
      }
    },
    drained: () => outbox.drained(),
    closed: () => {},
  });
  // An event that cannot be encoded fails its turn and so the warm-up.
  const write = (message: SessionResponse) => stream.write(encodeSessionResponse(message, () => {}));
  const outbox = new Outbox<ServerFrame>((frames) =>
    write({ $typeName: "sluice.inference.v1.SessionResponse", frames, draining: false }),
  );
  write(greeting);
}

/** Sends each batch in a separate turn of the event loop, like batches of a real model. */
function answer(outbox: Outbox<ServerFrame>, turn: number, batches: readonly Batch[], index = 0): void {
  const value = batches[index] as Batch;
  const last = index === batches.length - 1;
  const frame: ServerFrame["frame"] = { case: "batch", value };
  outbox.push({ $typeName: "sluice.inference.v1.ServerFrame", turn, frame, last }, value.cost);
  if (!last) setImmediate(answer, outbox, turn, batches, index + 1);
}
