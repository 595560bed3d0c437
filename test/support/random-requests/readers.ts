/** Reads the bodies of operations other than turns: frames of a WebSocket, embeddings, and prompts for token counts. */
import { parseEmbeddings } from "@sluice/gateway/doors/embeddings/request.js";
import { readResponse } from "@sluice/gateway/doors/responses/door.js";
import { readInputItems } from "@sluice/gateway/doors/responses/items.js";
import { bodyOf, readFrame, unknownPreviousResponse } from "@sluice/gateway/doors/responses/socket/frame.js";
import { estimateInputTokens, measureInput } from "@sluice/inference-svc/models/estimate/tokens.js";
import { parseEmbedding } from "@sluice/inference-svc/turn/parse/embedding.js";
import type { RunTurnRequest } from "@sluice/proto/gen/sluice/inference/v1/turn_pb.js";
import { scanObject } from "@sluice/proto/lib/json/scan.js";
import { type AcceptedRequest, type FuzzedFormat, fuzzDoorContext } from "./format.ts";
import { toTurn } from "./subject.ts";

/** @throws if the estimate is not a number of tokens */
export function acceptTokenCount(request: RunTurnRequest, throughWire: boolean): AcceptedRequest {
  const turn = toTurn(request, throughWire);
  const tokens = estimateInputTokens(measureInput(turn), turn.models[0] ?? "");
  if (!Number.isSafeInteger(tokens) || tokens < 0) throw new Error(`an estimate of ${tokens} tokens`);
  return { turn };
}

/** Reads a body as the corresponding WebSocket frame. A new connection has no earlier response to which a frame could refer. */
export const acceptFrame: FuzzedFormat["accept"] = (body, members, throughWire) => {
  const bytes = body.toString().replace("{", members.length > 0 ? `${frameType},` : frameType);
  const frame = readFrame(Buffer.from(bytes));
  if (frame === undefined) throw new Error("the frame cancels a response");
  if (frame.previousId !== undefined) throw unknownPreviousResponse(frame.previousId);
  const asked = bodyOf(frame, readInputItems(frame.bytes, frame.members));
  const { request } = readResponse(asked, scanObject(asked, "frame"), fuzzDoorContext);
  return { turn: toTurn(request, throughWire) };
};

const frameType = '{"type":"response.create"';

const names = { resolve: () => undefined };
const reading = {
  access: { generation: 1n },
  limits: { body_bytes: 1_000_000, turn_ms: 1_000 },
  compat: fuzzDoorContext.compat,
};

export const acceptEmbeddings: FuzzedFormat["accept"] = (body, members) => ({
  turn: parseEmbedding(parseEmbeddings(reading, {}, body, members), { scanned: true, names }),
});
