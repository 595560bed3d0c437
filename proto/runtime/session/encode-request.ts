/**
 * Encodes messages to inference-svc. Every turn passes here; the schema-driven encoder copies an input once for each of the five messages
 * around it.
 *
 * The request is the last field of its frame, and the input the last one of the request, so that a large input can follow the message instead of
 * being copied into it.
 */
import { toBinary } from "@bufbuild/protobuf";
import type { ClientFrame, Open, SessionRequest } from "../../gen/sluice/inference/v1/session_pb.ts";
import { type RunTurnRequest, RunTurnRequestSchema } from "../../gen/sluice/inference/v1/turn_pb.ts";
import { BackwardWriter } from "./backward-writer.ts";
import { isPlain, writeTurnRequest } from "./encode-turn-request.ts";
import { closePart, flagField, longField, numberField, presentNumber, textField } from "./fields.ts";
import { clientFrameTags, openTags, requestTags } from "./tags.ts";

/** Shared by all messages: each is written in one go, and copied out. */
const writer = new BackwardWriter();

/**
 * Passes on the message with the prefix of gRPC, in one part, or in two of which the second is a large input as it is.
 * @returns what `write` returned for the last part
 */
export function writeSessionRequest({ frames }: SessionRequest, write: (part: Uint8Array) => boolean): boolean {
  writer.reset();
  for (let index = frames.length - 1; index >= 0; index--) {
    const end = writer.length;
    writeFrame(frames[index]!);
    closePart(writer, end, requestTags.frames);
  }
  const message = writer.copyPrefixed();
  const following = writer.takeFollowing();
  const isWritten = write(message);
  return following ? write(following) : isWritten;
}

function writeFrame({ turn, frame }: ClientFrame): void {
  const end = writer.length;
  if (frame.case === "open") {
    writeOpen(frame.value);
    closePart(writer, end, clientFrameTags.open);
  } else if (frame.case === "credit") presentNumber(writer, frame.value, clientFrameTags.credit);
  else if (frame.case === "cancel") closePart(writer, end, clientFrameTags.cancel);
  numberField(writer, turn, clientFrameTags.turn);
}

function writeOpen(value: Open): void {
  if (value.request) {
    const end = writer.length;
    writeRequest(value.request);
    closePart(writer, end, openTags.request);
  }
  flagField(writer, value.atMostOnce, openTags.atMostOnce);
  textField(writer, value.tracestate, openTags.tracestate);
  textField(writer, value.traceparent, openTags.traceparent);
  textField(writer, value.generationId, openTags.generationId);
  numberField(writer, value.credit, openTags.credit);
  numberField(writer, value.deadlineMs, openTags.deadlineMs);
  longField(writer, value.policyGeneration, openTags.policyGeneration);
  textField(writer, value.requestId, openTags.requestId);
  textField(writer, value.keyHash, openTags.keyHash);
}

function writeRequest(request: RunTurnRequest): void {
  if (isPlain(request)) writeTurnRequest(writer, request);
  else writer.bytes(toBinary(RunTurnRequestSchema, request));
}
