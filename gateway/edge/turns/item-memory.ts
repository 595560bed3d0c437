/** Items of earlier answers to a key. A format may refer to them instead of sending them again. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ItemTaker } from "@sluice/proto/lib/responses/object.js";
import type { Reservation } from "@sluice/proto/lib/load/byte-budget.js";
import type { Limits } from "@sluice/proto/config/config-file.js";
import { scanObjectInPieces } from "@sluice/proto/lib/json/scan.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { tooLarge } from "../http/body.ts";
import type { ScannedBody } from "./body.ts";
import type { Door } from "./door.ts";

export interface ItemMemory {
  /** @returns the receiver of the answer's items; undefined when they are not remembered */
  taker(keyHash: string): ItemReceiver | undefined;
  /** @returns the body with items instead of references to them; undefined when it stays unchanged */
  restore(keyHash: string, body: Buffer, members: readonly JsonMember[]): Promise<Buffer | undefined> | undefined;
}

interface RestoringCall {
  readonly door: Pick<Door, "refersToItems">;
  readonly keyHash: string;
  readonly bodyRoom: Reservation;
}

/**
 * Replaces references with the earlier items.
 * @returns undefined when the body stays unchanged
 * @throws Fault PAYLOAD_TOO_LARGE when it grows above the limit of bodies; UNAVAILABLE when no memory is free
 */
export function restoreItems(
  { itemMemory, limits }: { readonly itemMemory: ItemMemory; readonly limits: Pick<Limits, "body_bytes"> },
  { door, keyHash, bodyRoom }: RestoringCall,
  { body, members }: ScannedBody,
): Promise<ScannedBody | undefined> | undefined {
  const restoring = door.refersToItems ? itemMemory.restore(keyHash, body, members) : undefined;
  return restoring?.then(async (restored) => {
    if (!restored) return undefined;
    if (restored.length > limits.body_bytes) throw tooLarge(limits.body_bytes);
    await bodyRoom.grow(2 * restored.length);
    return { body: restored, members: await scanObjectInPieces(restored, "body", nextTurn) };
  });
}
