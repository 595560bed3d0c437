/** The generations that requests with an Idempotency-Key can join, by key and Idempotency-Key. What has ended is not kept. */
import type { IncomingMessage } from "node:http";
import { invalid } from "@sluice/proto/runtime/validation/problems.js";
import { LogRoom } from "./event-log.ts";
import { Generation } from "./generation.ts";

/** Of all generations together; above it those that say more can be joined no longer. */
const mostLoggedBytes = 67_108_864;

const form = /^[\x21-\x7e]{1,255}$/;

/** @throws Fault INVALID_REQUEST */
export function idempotencyKeyOf({ headers }: IncomingMessage): string | undefined {
  const key = headers["idempotency-key"];
  if (key === undefined) return undefined;
  if (typeof key === "string" && form.test(key)) return key;
  throw invalid("idempotency-key", "1 to 255 visible characters of ASCII");
}

export class InFlight<Asked> {
  readonly #generations = new Map<string, Generation<Asked>>();
  readonly #room = new LogRoom(mostLoggedBytes);

  find(keyHash: string, idempotencyKey: string): Generation<Asked> | undefined {
    return this.#generations.get(nameOf(keyHash, idempotencyKey));
  }

  /** Only where none is found. */
  begin(keyHash: string, idempotencyKey: string): Generation<Asked> {
    const name = nameOf(keyHash, idempotencyKey);
    const generation = new Generation<Asked>(this.#room, () => this.#generations.delete(name));
    this.#generations.set(name, generation);
    return generation;
  }

  get loggedBytes(): number {
    return this.#room.usedBytes;
  }
}

/** Another key's is another one, whatever it is called. */
const nameOf = (keyHash: string, idempotencyKey: string): string => `${keyHash}:${idempotencyKey}`;
