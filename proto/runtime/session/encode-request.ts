/**
 * Messages to inference-svc as bytes. The general way copies an input once for every message that it lies in, which is five times; here a large
 * one is copied once, into the message as it is sent.
 */
import { toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import {
  type ClientFrame,
  ClientFrameSchema,
  type Open,
  OpenSchema,
  type SessionRequest,
  SessionRequestSchema,
} from "../../gen/sluice/inference/v1/session_pb.ts";
import { RunTurnRequestSchema } from "../../gen/sluice/inference/v1/turn_pb.ts";

/** Below this the copies cost less than to write a message in parts. */
const minInputBytes = 65_536;
const none = new Uint8Array();

export function encodeRequest(message: SessionRequest): Buffer {
  const [first, ...others] = message.frames;
  const open = first?.frame.case === "open" ? first.frame.value : undefined;
  const isLarge = (open?.request?.inputJson.length ?? 0) >= minInputBytes;
  if (first && open && isLarge && others.length === 0) return Buffer.concat(messageParts(first, open));
  const bytes = toBinary(SessionRequestSchema, message);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** The message of one frame, with its input as it stands. */
function messageParts(frame: ClientFrame, open: Open): readonly Uint8Array[] {
  const head = toBinary(ClientFrameSchema, { ...frame, frame: { case: undefined } });
  const body = [head, ...within(ClientFrameSchema.field.open.number, openParts(open))];
  return within(SessionRequestSchema.field.frames.number, body);
}

function openParts(open: Open): readonly Uint8Array[] {
  const { request } = open;
  const { request: _, ...others } = open;
  const head = toBinary(OpenSchema, others);
  if (!request) return [head];
  const fields = toBinary(RunTurnRequestSchema, { ...request, inputJson: none });
  const body = [fields, ...within(RunTurnRequestSchema.field.inputJson.number, [request.inputJson])];
  return [head, ...within(OpenSchema.field.request.number, body)];
}

/** A field whose value is in parts, with the length of them all before it. */
function within(field: number, parts: readonly Uint8Array[]): readonly Uint8Array[] {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  return [new BinaryWriter().tag(field, WireType.LengthDelimited).uint32(length).finish(), ...parts];
}
