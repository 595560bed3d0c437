/**
 * Decodes messages that inference-svc sends to a gateway. Every event of every stream passes here: the schema-driven
 * decoder took 0.57 us for an event in a burst and 2.3 us for a single one; this decoder takes a third (2026-11-22,
 * Node 20).
 */
import { type SessionResponse, SessionResponseSchema } from "../../gen/sluice/inference/v1/session_pb.ts";
import { readSessionResponse } from "./gen/codec.ts";
import { decodeMessage } from "./wire-reader.ts";

/** @throws Error when the bytes from `start` to `end` are not a valid message */
export const decodeSessionResponse = (bytes: Buffer, start: number, end: number): SessionResponse =>
  decodeMessage(SessionResponseSchema, readSessionResponse, bytes, start, end);
