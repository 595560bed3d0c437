/**
 * Encodes messages that a gateway sends to inference-svc. Every turn passes here; the schema-driven encoder copies the
 * input of a request once for each of the five messages around it.
 */
import type { SessionRequest } from "../../gen/sluice/inference/v1/session_pb.ts";
import { BackwardWriter } from "./backward-writer.ts";
import { writeSessionRequest as writeFields } from "./gen/codec.ts";

/** The writer is shared by all messages: each is written completely and copied before the next. */
const writer = new BackwardWriter();

/**
 * Writes the message behind gRPC's message prefix, in one part, or in two parts when a large input follows without a
 * copy.
 * @returns the result of `write` for the last part
 */
export function writeSessionRequest(request: SessionRequest, write: (part: Uint8Array) => boolean): boolean {
  writer.reset();
  writeFields(writer, request);
  const message = writer.copyPrefixed();
  const following = writer.takeFollowing();
  const isWritten = write(message);
  return following ? write(following) : isWritten;
}
