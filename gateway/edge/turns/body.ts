/** Scans the body of a turn, and reserves memory for parsing it. */
import type { IncomingMessage } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Reservation } from "@sluice/proto/lib/load/byte-budget.js";
import { createScannedArrays } from "@sluice/proto/lib/json/elements.js";
import { pieceBytes, scanObject, scanObjectInPieces, scanRepeated } from "@sluice/proto/lib/json/scan.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { incompleteBodyFault } from "../http/body.ts";

/** Conversations and tools of earlier requests. */
const scannedArrays = createScannedArrays();

/**
 * Finds the members of a body. A long body is scanned in pieces, to let other requests run in between.
 * @param request the request of the only client waiting for the turn; absent when other clients may share it
 * @param owner key whose conversations are remembered; absent where none is expected
 * @throws Fault INVALID_REQUEST, also when this client has left meanwhile
 */
export function scanBody(
  body: Buffer,
  request?: IncomingMessage,
  owner?: string,
): readonly JsonMember[] | Promise<readonly JsonMember[]> {
  if (body.length <= pieceBytes) {
    return owner === undefined ? scanObject(body, "body") : scanRepeated(body, "body", scannedArrays, owner);
  }
  return scanObjectInPieces(body, "body", async () => {
    await nextTurn();
    if (request?.socket.destroyed) throw incompleteBodyFault();
  });
}

/** Bytes of memory per parsed byte: its text, its value and its echo in the answer, with up to two bytes per character. */
const parsedCopies = 6;

/**
 * Reserves memory for parsing a body.
 * @param unparsed member passed on unparsed
 * @returns undefined when the memory is free at once. @throws Fault UNAVAILABLE when no memory is free
 */
export function reserveForParsing(
  room: Reservation,
  body: Buffer,
  members: readonly JsonMember[],
  unparsed: string | undefined,
): Promise<void> | undefined {
  const passed = members.find(({ key }) => key === unparsed);
  const parsedBytes = body.length - (passed ? passed.end - passed.start : 0);
  return room.grow(parsedCopies * parsedBytes);
}
