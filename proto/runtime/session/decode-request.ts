/**
 * Decodes messages of a gateway. Every turn passes here.
 *
 * It knows the frequent fields of this build. A request with another one, such as plugins, goes to the schema-driven decoder, and so does a
 * message with a field of a later build.
 */
import { fromBinary } from "@bufbuild/protobuf";
import {
  type ClientFrame,
  type Open,
  type SessionRequest,
  SessionRequestSchema,
} from "../../gen/sluice/inference/v1/session_pb.ts";
import { RunTurnRequestSchema } from "../../gen/sluice/inference/v1/turn_pb.ts";
import { readTurnRequest } from "./decode-turn-request.ts";
import { clientFrameTags, openTags, requestTags } from "./tags.ts";
import { WireReader, readBySchema, unfamiliar } from "./wire-reader.ts";

/** @throws when the bytes from `start` to `end` are no message */
export function decodeSessionRequest(bytes: Buffer, start: number, end: number): SessionRequest {
  try {
    return readRequest(new WireReader(bytes, start, end), end);
  } catch (error) {
    if (error !== unfamiliar) throw error;
    return fromBinary(SessionRequestSchema, bytes.subarray(start, end));
  }
}

function readRequest(reader: WireReader, end: number): SessionRequest {
  const frames: ClientFrame[] = [];
  while (reader.at < end) {
    if (reader.varint() !== requestTags.frames) throw unfamiliar;
    frames.push(readFrame(reader, reader.end()));
  }
  return { $typeName: "sluice.inference.v1.SessionRequest", frames };
}

const empty: ClientFrame["frame"] = { case: undefined };
const cancel: ClientFrame["frame"] = { case: "cancel", value: { $typeName: "sluice.inference.v1.Cancel" } };

function readFrame(reader: WireReader, end: number): ClientFrame {
  let turn = 0;
  let said = empty;
  while (reader.at < end) {
    const tag = reader.varint();
    if (tag === clientFrameTags.turn) turn = reader.varint();
    // The contract merges a message that comes twice.
    else if (said !== empty) throw unfamiliar;
    else if (tag === clientFrameTags.open) said = { case: "open", value: readOpen(reader, reader.end()) };
    else if (tag === clientFrameTags.credit) said = { case: "credit", value: reader.varint() };
    else if (tag === clientFrameTags.cancel && reader.varint() === 0) said = cancel;
    else throw unfamiliar;
  }
  reader.ends(end);
  return { $typeName: "sluice.inference.v1.ClientFrame", turn, frame: said };
}

function readOpen(reader: WireReader, end: number): Open {
  const value = {
    $typeName: "sluice.inference.v1.Open",
    request: undefined,
    keyHash: "",
    requestId: "",
    policyGeneration: 0n,
    deadlineMs: 0,
    credit: 0,
    generationId: "",
    traceparent: "",
    tracestate: "",
    atMostOnce: false,
    // The type of an optional field leaves undefined out.
  } as unknown as Open;
  while (reader.at < end) readOpenField(reader, reader.varint(), value);
  reader.ends(end);
  return value;
}

function readOpenField(reader: WireReader, tag: number, value: Open): void {
  if (tag === openTags.request && !value.request) value.request = readTurn(reader, reader.end());
  else if (tag === openTags.keyHash) value.keyHash = reader.string();
  else if (tag === openTags.requestId) value.requestId = reader.string();
  else if (tag === openTags.policyGeneration) value.policyGeneration = reader.uint64();
  else if (tag === openTags.deadlineMs) value.deadlineMs = reader.varint();
  else if (tag === openTags.credit) value.credit = reader.varint();
  else if (tag === openTags.generationId) value.generationId = reader.string();
  else if (tag === openTags.traceparent) value.traceparent = reader.string();
  else if (tag === openTags.tracestate) value.tracestate = reader.string();
  else if (tag === openTags.atMostOnce) value.atMostOnce = reader.varint() !== 0;
  else throw unfamiliar;
}

function readTurn(reader: WireReader, end: number): NonNullable<Open["request"]> {
  const start = reader.at;
  const request = readTurnRequest(reader, end);
  return request ?? readBySchema(RunTurnRequestSchema, reader, start, end);
}
