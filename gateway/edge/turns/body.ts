/** Scans the body of a request, reserves memory for parsing it, and replaces references in it with remembered items. */
import type { IncomingMessage } from "node:http";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Reservation } from "@sluice/proto/lib/load/byte-budget.js";
import { createScannedArrays } from "@sluice/proto/lib/json/elements.js";
import { pieceBytes, scanObject, scanObjectInPieces, scanRepeated } from "@sluice/proto/lib/json/scan.js";
import type { ItemReceiver } from "@sluice/proto/lib/responses/object.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import type { Limits } from "@sluice/proto/config/config-file.js";
import { incompleteBodyFault, readBody, bodyTooLargeFault } from "../http/body.ts";
import type { Exchange } from "../http/context.ts";
import type { Door } from "./door.ts";

/** Arrays of messages and tools in earlier requests. */
const scannedArrays = createScannedArrays();

/** A body, with the places of its top-level members. */
export interface ScannedBody {
  readonly body: Buffer;
  readonly members: readonly JsonMember[];
}

/** A request whose body is read. */
interface BodyCall {
  readonly door: Pick<Door, "unparsed" | "repeats" | "bodyName">;
  readonly keyHash: string;
  /** Memory reserved for the body. */
  readonly bodyRoom: Reservation;
  /** The HTTP request of the only client that waits for this body; undefined if others may wait for it. */
  readonly client: IncomingMessage | undefined;
}

/**
 * Finds the top-level members of a body, and reserves memory for parsing it. A long body is scanned in pieces, with other requests served in between.
 * @returns the body without a promise if it is short and memory is free  @throws Fault INVALID_REQUEST, also if the only client has left meanwhile;
 * UNAVAILABLE if no memory is free
 */
export function scanBody(body: Buffer, call: BodyCall): ScannedBody | Promise<ScannedBody> {
  const { door, keyHash } = call;
  const name = door.bodyName ?? "body";
  if (body.length > pieceBytes) return scanInPieces(body, name, call);
  const members = door.repeats ? scanRepeated(body, name, scannedArrays, keyHash) : scanObject(body, name);
  const waiting = reserveForParsing(body, members, call);
  const scanned = { body, members };
  return waiting ? waiting.then(() => scanned) : scanned;
}

/**
 * Reads and scans the body of a request that opens no turn.
 * @throws Fault as readBody and scanBody
 */
export async function readWholeBody(
  limits: Pick<Limits, "body_bytes">,
  { req, room, keyHash }: Pick<Exchange, "req" | "room" | "keyHash">,
  { unparsed }: Pick<Door, "unparsed">,
): Promise<ScannedBody> {
  const body = await readBody(req, limits.body_bytes, room);
  return scanBody(body, { door: { unparsed, repeats: false }, keyHash, bodyRoom: room, client: req });
}

async function scanInPieces(body: Buffer, name: string, call: BodyCall): Promise<ScannedBody> {
  const members = await scanObjectInPieces(body, name, async () => {
    await nextTurn();
    if (call.client?.socket.destroyed) throw incompleteBodyFault();
  });
  await reserveForParsing(body, members, call);
  return { body, members };
}

/** Bytes of memory reserved per parsed byte: for its text, its value and its repetition in the answer, each with up to two bytes per character. */
const parsedCopies = 6;

function reserveForParsing(
  body: Buffer,
  members: readonly JsonMember[],
  { door, bodyRoom }: BodyCall,
): Promise<void> | undefined {
  const passed = members.find(({ key }) => key === door.unparsed);
  const parsedBytes = body.length - (passed ? passed.end - passed.start : 0);
  return bodyRoom.grow(parsedCopies * parsedBytes);
}

/** Memory of the items in answers to a key. Requests of some formats may refer to these items instead of containing them. */
export interface ItemMemory {
  /** Whether items are remembered. */
  readonly isOn: boolean;
  /** @returns the receiver of an answer's items; undefined if items are not remembered */
  taker(keyHash: string): ItemReceiver | undefined;
  /** @returns the body with items in place of references to them; undefined if it stays unchanged */
  restore(keyHash: string, body: Buffer, members: readonly JsonMember[]): Promise<Buffer | undefined> | undefined;
}

/**
 * Replaces references to earlier items by these items.  @returns undefined if the body stays unchanged  @throws Fault PAYLOAD_TOO_LARGE if the body
 * becomes larger than the limit; UNAVAILABLE if no memory is free
 */
export function restoreItems(
  itemMemory: ItemMemory,
  limits: Pick<Limits, "body_bytes">,
  { keyHash, bodyRoom }: Pick<BodyCall, "keyHash" | "bodyRoom">,
  { body, members }: ScannedBody,
): Promise<ScannedBody | undefined> | undefined {
  return itemMemory.restore(keyHash, body, members)?.then(async (restored) => {
    if (!restored) return undefined;
    if (restored.length > limits.body_bytes) throw bodyTooLargeFault(limits.body_bytes);
    await bodyRoom.grow(2 * restored.length);
    return { body: restored, members: await scanObjectInPieces(restored, "body", nextTurn) };
  });
}
