/**
 * Encodes messages that inference-svc sends to a gateway. Every event of every stream passes here: the schema-driven
 * encoder took 0.65 us for an event in a burst and 2.3 us for a single one; this encoder takes a quarter (2026-11-22,
 * Node 20). A test checks that the bytes are the same.
 */
import { create } from "@bufbuild/protobuf";
import { type ServerFrame, ServerFrameSchema, type SessionResponse } from "../../gen/sluice/inference/v1/session_pb.ts";
import { Fault, FaultReason } from "../faults/fault.ts";
import { BackwardWriter } from "./backward-writer.ts";
import { writeServerFrame, writeSessionResponse } from "./gen/codec.ts";

/** The writer is shared by all messages: each is written completely and copied before the next. */
const writer = new BackwardWriter();

/**
 * Encodes a message behind gRPC's message prefix.
 * @param unencodable called for a turn with a frame that the contract cannot express; only this turn fails
 */
export function encodeSessionResponse(
  message: SessionResponse,
  unencodable: (turn: number, cause: unknown) => void,
): Buffer {
  writer.reset();
  writeSessionResponse(writer, message, (_, frame) => {
    const end = writer.length;
    try {
      writeServerFrame(writer, frame);
    } catch (error) {
      writer.cut(end);
      writeServerFrame(writer, failed(frame.turn));
      unencodable(frame.turn, error);
    }
  });
  return writer.copyPrefixed();
}

const failed = (turn: number): ServerFrame =>
  create(ServerFrameSchema, {
    turn,
    last: true,
    frame: { case: "fault", value: new Fault(FaultReason.INTERNAL).toMessage() },
  });
