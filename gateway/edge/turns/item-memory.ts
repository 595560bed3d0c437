/** Items of earlier answers to a key. A format may refer to them instead of sending them again. */
import type { ItemReceiver } from "@sluice/proto/lib/responses/object.js";
import type { Reservation } from "@sluice/proto/lib/load/byte-budget.js";
import type { JsonMember } from "@sluice/proto/lib/json/span.js";
import { bodyTooLargeFault } from "../http/body.ts";
import { scanBody } from "./body.ts";
import type { Door } from "./door.ts";

export interface ItemMemory {
  /** @returns the receiver of the answer's items; undefined when they are not remembered */
  taker(keyHash: string): ItemReceiver | undefined;
  /** @returns the body with items instead of references to them; undefined when it stays unchanged */
  restore(keyHash: string, body: Buffer, members: readonly JsonMember[]): Promise<Buffer | undefined> | undefined;
}

export interface ScannedBody {
  readonly body: Buffer;
  readonly members: readonly JsonMember[];
}

interface Restoring {
  readonly memory: ItemMemory;
  readonly door: Pick<Door, "refersToItems">;
  readonly keyHash: string;
  readonly room: Reservation;
  readonly limitBytes: number;
}

/**
 * Replaces references with the earlier items.
 * @returns undefined when the body stays unchanged
 * @throws Fault PAYLOAD_TOO_LARGE when it grows above the limit of bodies; UNAVAILABLE when no memory is free
 */
export function restoreItems(
  { memory, door, keyHash, room, limitBytes }: Restoring,
  { body, members }: ScannedBody,
): Promise<ScannedBody | undefined> | undefined {
  const restoring = door.refersToItems ? memory.restore(keyHash, body, members) : undefined;
  return restoring?.then(async (restored) => {
    if (!restored) return undefined;
    if (restored.length > limitBytes) throw bodyTooLargeFault(limitBytes);
    await room.grow(2 * restored.length);
    return { body: restored, members: await scanBody(restored) };
  });
}
