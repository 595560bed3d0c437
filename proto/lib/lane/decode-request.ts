/** Decodes messages that a gateway sends to inference-svc. Every turn passes here. */
import { type SessionRequest, SessionRequestSchema } from "../../gen/sluice/inference/v1/session_pb.ts";
import { readSessionRequest } from "./gen/codec.ts";
import { decodeMessage } from "./wire-reader.ts";

/** @throws Error when the bytes from `start` to `end` are not a valid message */
export const decodeSessionRequest = (bytes: Buffer, start: number, end: number): SessionRequest =>
  decodeMessage(SessionRequestSchema, readSessionRequest, bytes, start, end);
